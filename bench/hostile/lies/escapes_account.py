"""Words of the account that are escape sequences, where numbers and directions are due."""

import json

from wire.liar import ESCAPES, Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    async def account(self, it):
        await it.begin(200, chunked=True)
        flow = {"flow": 0, "direction": ESCAPES, "connection": 1, "open": True, "bytes": 0}
        await it.chunk(json.dumps({"time_ns": 1, "flows": [flow]}, ensure_ascii=False).encode() + b"\n")
        await it.stall()
