"""An answer's header of 16 kB that is 45 MB unpacked, again and again."""

from wire.http2 import END_HEADERS, HEADERS, frame, integer, string
from wire.http2_liar import OK, Http2


class Lie(Http2):
    async def lie(self):
        store = b"\x40" + string(b"x") + string(b"y" * 3900)
        for _ in range(200):
            await self.send(frame(HEADERS, END_HEADERS, 1, OK + store + integer(62, 7, 0x80) * 11_000))
        await super().lie()
