"""Probes are never answered."""

from wire.liar import Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    async def small(self, it):
        await it.stall()
