"""A server of HTTP/2 that answers nothing of what is asked; its client asks for the description on stream 1."""

from wire.http2 import PREFACE, settings
from wire.liar import Server

# Of a server's header: status 200.
OK = b"\x88"


class Http2(Server):
    scheme = "https"
    client = ("--http", "2")
    alpn = ("h2",)
    may = ("error",)
    first = settings()

    async def connection(self, reader, writer):
        await reader.readexactly(len(PREFACE))
        self.reader, self.writer = reader, writer
        await self.send(self.first)
        # Its SETTINGS and request.
        await reader.read(65536)
        await self.lie()

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def lie(self):
        while await self.reader.read(65536):
            pass
