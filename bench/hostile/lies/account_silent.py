"""An account that begins and says nothing."""

from wire.liar import Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    async def account(self, it):
        await it.begin(200, chunked=True)
        await it.stall()
