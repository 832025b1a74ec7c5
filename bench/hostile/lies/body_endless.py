"""A description that never ends."""

from wire.liar import Server


class Lie(Server):
    may = ("error",)

    async def description(self, it):
        await it.begin(200, chunked=True)
        while True:
            await it.chunk(b" " * 65536)
