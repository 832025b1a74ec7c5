"""A description of 60,000 brackets."""

from wire.liar import Server


class Lie(Server):
    may = ("error",)

    async def description(self, it):
        await it.say(200, b'{"version":1,"urls":' + b"[" * 60_000)
