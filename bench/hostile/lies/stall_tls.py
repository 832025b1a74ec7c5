"""A port that takes connections and says nothing, where TLS is due."""

import asyncio

from wire.raw import Raw


class Lie(Raw):
    async def connection(self, reader, writer):
        await asyncio.sleep(3600)
