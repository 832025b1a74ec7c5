"""PING without end."""

from wire.http2 import PING, frame
from wire.http2_liar import Http2


class Lie(Http2):
    async def lie(self):
        while True:
            await self.send(frame(PING, body=bytes(8)) * 1000)
