"""A field of the answer's header that never ends."""

from wire.liar import Server


class Lie(Server):
    may = ("error",)

    async def description(self, it):
        await it.send(b"HTTP/1.1 200 OK\r\nx: ")
        while True:
            await it.send(b"y" * 65536)
