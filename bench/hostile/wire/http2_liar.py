"""A server of HTTP/2 that answers nothing of what is asked; its client asks for the description on stream 1."""

import asyncio

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
        # A connection that the client ended takes everything and never lets others have their turn.
        if self.writer.is_closing():
            raise ConnectionResetError
        self.writer.write(data)
        await self.writer.drain()
        await asyncio.sleep(0)

    async def lie(self):
        while await self.reader.read(65536):
            pass
