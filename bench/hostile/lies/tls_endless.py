"""A handshake of TLS whose first message claims 16 MB and comes in small records."""

import asyncio

from wire.raw import Raw

RECORD = b"\x16\x03\x03\x40\x00"


class Lie(Raw):
    async def connection(self, reader, writer):
        await reader.read(100)
        writer.write(RECORD + b"\x02\xff\xff\xff" + bytes(16380))
        while True:
            writer.write(RECORD + bytes(16384))
            await writer.drain()
            await asyncio.sleep(0)
