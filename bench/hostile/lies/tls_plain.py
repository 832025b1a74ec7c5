"""HTTP without TLS where TLS was asked for."""

from wire.raw import Raw


class Lie(Raw):
    async def connection(self, reader, writer):
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
