"""The description is elsewhere: a redirect to a third party."""

from wire.elsewhere import OTHER
from wire.liar import Server


class Lie(Server):
    may = ("error",)

    async def description(self, it):
        await it.say(302, b"", [f"location: http://{OTHER}:{self.port}/.well-known/nq"])
