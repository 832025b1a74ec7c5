"""Every place of ndt7, taken by one address, with a message of 15 MiB in each."""

import asyncio

from wire import websocket
from wire.link import link

PROTOCOL = "net.measurementlab.ndt.v7"


async def attack(target):
    upgraded = 0

    async def each(number):
        nonlocal upgraded
        async with link(target, target.source(0)) as it:
            if it and await websocket.upgrade(it, "/ndt/v7/upload", PROTOCOL) == 101:
                upgraded += 1
                await it.send(websocket.head(websocket.BINARY | websocket.FINAL, 16 << 20))
                for _ in range(15 * 16):
                    await it.send(bytes(1 << 16))
                await target.over()

    async def another():
        await asyncio.sleep(2)
        target.in_place()
        async with link(target, target.source(1)) as it:
            if it is None or await websocket.upgrade(it, "/ndt/v7/upload", PROTOCOL) != 101:
                target.fault("ndt7 has no place for another address")

    await asyncio.gather(target.once(50, each), another())
    if upgraded == 0:
        target.counts.errors.append("no upgrade")
