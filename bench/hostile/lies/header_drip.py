"""The answer's header byte by byte, one in half a second."""

import asyncio

from wire.liar import Server


class Lie(Server):
    may = ("error",)

    async def description(self, it):
        await it.send(b"HTTP/1.1 200 OK\r\nx: ")
        while True:
            await it.send(b"y")
            await asyncio.sleep(0.5)
