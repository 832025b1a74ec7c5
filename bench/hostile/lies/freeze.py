"""Everything stands still three seconds after its start."""

import time

from wire.liar import Server


class Lie(Server):
    def is_frozen(self):
        return time.monotonic() - self.begun > 3

    async def answer(self, it):
        if self.is_frozen():
            await it.stall()
        await super().answer(it)

    async def large(self, it):
        await it.begin(200, length=8 << 30)
        while not self.is_frozen():
            await it.send(bytes(4096))
        await it.stall()

    def echo(self, data, to, transport):
        if not self.is_frozen():
            super().echo(data, to, transport)
