"""A version of 10^400, and urls that are a number of 60,000 digits."""

from wire.liar import Server


class Lie(Server):
    may = ("error",)

    async def description(self, it):
        await it.say(200, b'{"version":1e400,"urls":' + b"9" * 60_000 + b"}")
