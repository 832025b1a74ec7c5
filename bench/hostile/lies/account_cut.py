"""An account that ends in the middle of a line."""

from wire.liar import Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    async def account(self, it):
        await it.begin(200, chunked=True)
        await it.chunk(b'{"time_ns":1}\n{"time_ns":')
        raise OSError
