"""A refusal whose words are escape sequences of a terminal."""

from wire.liar import ESCAPES, Server


class Lie(Server):
    may = ("error",)

    async def description(self, it):
        await it.say(403, ESCAPES.encode())
