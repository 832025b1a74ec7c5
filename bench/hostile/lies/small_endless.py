"""Answers to probes of 8 GB, where a byte is due."""

from wire.liar import Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    async def small(self, it):
        await it.begin(200, length=8 << 30)
        while True:
            await it.send(bytes(65536))
