"""Probes are never answered."""

from wire.liar import Server


class Lie(Server):
    async def small(self, it):
        await it.stall()
