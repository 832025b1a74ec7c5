"""The account is asked for and never comes."""

from wire.liar import Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    async def account(self, it):
        await it.stall()
