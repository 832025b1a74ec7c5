"""Loads whose connections close at once."""

from wire.liar import Server


class Lie(Server):
    async def large(self, it):
        raise OSError

    upload = large
