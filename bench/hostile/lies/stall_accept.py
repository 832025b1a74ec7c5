"""A port that takes connections and says nothing."""

import asyncio

from wire.liar import Server


class Lie(Server):
    may = ("error",)

    async def connection(self, reader, writer):
        await asyncio.sleep(3600)
