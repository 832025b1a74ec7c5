"""A status line and a header that are escape sequences."""

from wire.liar import ESCAPES, Server


class Lie(Server):
    may = ("error",)

    async def description(self, it):
        await it.send(f"HTTP/1.1 403 {ESCAPES}\r\nx: {ESCAPES}\r\ncontent-length: 0\r\n\r\n".encode())
