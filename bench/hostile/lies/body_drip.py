"""The description byte by byte, one in half a second."""

import asyncio

from wire.liar import Server


class Lie(Server):
    may = ("error",)

    async def description(self, it):
        await it.begin(200, length=1000)
        while True:
            await it.send(b" ")
            await asyncio.sleep(0.5)
