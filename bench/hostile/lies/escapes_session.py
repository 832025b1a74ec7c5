"""A refusal of the session whose words are escape sequences."""

from wire.liar import ESCAPES, Server


class Lie(Server):
    may = ("error",)

    async def session(self, it):
        await it.take_body()
        await it.say(429, (ESCAPES * 100).encode())
