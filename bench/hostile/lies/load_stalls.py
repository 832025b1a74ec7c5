"""Downloads that begin and never go on."""

from wire.liar import Server


class Lie(Server):
    async def large(self, it):
        await it.begin(200, length=8 << 30)
        await it.stall()
