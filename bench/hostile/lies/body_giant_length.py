"""A description that claims 2^63 bytes."""

from wire.liar import Server


class Lie(Server):
    may = ("error",)

    async def description(self, it):
        await it.begin(200, length=2 ** 63 - 1)
        await it.stall()
