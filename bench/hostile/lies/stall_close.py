"""The end of the session is never answered."""

from wire.liar import Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    async def close_session(self, it):
        await it.stall()
