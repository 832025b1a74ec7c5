"""GOAWAY at once, for a reason which is escape sequences."""

from wire.http2 import GOAWAY, frame
from wire.http2_liar import Http2
from wire.liar import ESCAPES


class Lie(Http2):
    async def lie(self):
        await self.send(frame(GOAWAY, body=bytes(4) + b"\0\0\0\x0b" + ESCAPES.encode()))
        await super().lie()
