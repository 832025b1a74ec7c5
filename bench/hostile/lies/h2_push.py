"""Promises of what nobody asked for."""

from wire.http2 import END_HEADERS, PUSH, fields, frame
from wire.http2_liar import Http2


class Lie(Http2):
    async def lie(self):
        for stream in range(2, 20_000, 2):
            await self.send(frame(PUSH, END_HEADERS, 1, stream.to_bytes(4, "big") + fields()))
        await super().lie()
