"""A line of the account that never ends."""

from wire.liar import Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    async def account(self, it):
        await it.begin(200, chunked=True)
        await it.chunk(b'{"time_ns":1,"x":"')
        while True:
            await it.chunk(b"y" * 60_000)
