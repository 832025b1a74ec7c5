"""The account is asked for and never comes."""

from wire.liar import Server


class Lie(Server):
    async def account(self, it):
        await it.stall()
