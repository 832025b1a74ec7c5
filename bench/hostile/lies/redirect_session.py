"""The session is elsewhere: a redirect to a third party."""

from wire.elsewhere import OTHER
from wire.liar import Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    async def session(self, it):
        await it.say(307, b"", [f"location: http://{OTHER}:{self.port}/unbloat/v1/session"])
