"""Fields of the answer's header without end."""

from wire.liar import Server


class Lie(Server):
    may = ("error",)

    async def description(self, it):
        await it.send(b"HTTP/1.1 200 OK\r\n")
        while True:
            await it.send(b"x: y\r\n" * 10_000)
