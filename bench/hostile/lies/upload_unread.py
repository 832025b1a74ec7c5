"""Uploads that nobody reads."""

from wire.liar import Server


class Lie(Server):
    async def upload(self, it):
        await it.stall()
