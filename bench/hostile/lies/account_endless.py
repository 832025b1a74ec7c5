"""Lines of the account as fast as they are read."""

import json

from wire.liar import Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    async def account(self, it):
        await it.begin(200, chunked=True)
        while True:
            await it.chunk((json.dumps(self.line()).encode() + b"\n") * 200)
