"""A frame of 16 MB, beyond what the client takes."""

from wire.http2 import END_HEADERS, HEADERS, frame
from wire.http2_liar import OK, Http2


class Lie(Http2):
    async def lie(self):
        await self.send(frame(HEADERS, END_HEADERS, 1, OK) + b"\xff\xff\xff\0\0\0\0\0\x01")
        while True:
            await self.send(bytes(65536))
