"""Loads of ten bytes, again and again."""

from wire.liar import Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    async def large(self, it):
        await it.say(200, bytes(10))
