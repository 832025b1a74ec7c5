"""A description said to be compressed: 40 MB of blanks in 40 kB."""

import gzip

from wire.liar import Server


class Lie(Server):
    may = ("error",)

    async def description(self, it):
        await it.say(200, gzip.compress(b" " * 40_000_000), ["content-encoding: gzip"])
