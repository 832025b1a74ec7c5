"""A session that never ends its answer."""

from wire.liar import Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    async def session(self, it):
        await it.take_body()
        await it.begin(201, chunked=True)
        await it.chunk(b'{"session":"')
        while True:
            await it.chunk(b"a" * 65536)
