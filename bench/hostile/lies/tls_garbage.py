"""Random bytes where TLS is due, without end."""

import os

from wire.raw import Raw


class Lie(Raw):
    async def connection(self, reader, writer):
        while True:
            writer.write(os.urandom(65536))
            await writer.drain()
