"""An answer's header that goes on in CONTINUATION frames without end."""

from wire.http2 import CONTINUATION, HEADERS, frame, literal
from wire.http2_liar import OK, Http2


class Lie(Http2):
    async def lie(self):
        await self.send(frame(HEADERS, 0, 1, OK))
        while True:
            await self.send(frame(CONTINUATION, 0, 1, literal(b"x", b"y" * 16000)))
