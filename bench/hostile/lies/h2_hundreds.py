"""Interim answers (103) without end in place of one."""

from wire.http2 import END_HEADERS, HEADERS, frame, string
from wire.http2_liar import Http2


class Lie(Http2):
    async def lie(self):
        while True:
            await self.send(frame(HEADERS, END_HEADERS, 1, b"\x08" + string(b"103")) * 1000)
