"""The session is asked for and never comes."""

from wire.liar import Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    async def session(self, it):
        await it.stall()
