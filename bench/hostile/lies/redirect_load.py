"""The loads are elsewhere: redirects to a third party."""

from wire.elsewhere import OTHER
from wire.liar import Server


class Lie(Server):
    async def large(self, it):
        await it.say(307, b"", [f"location: http://{OTHER}:{self.port}{it.path}"])
        await it.reader.read(1 << 16)

    upload = small = large
