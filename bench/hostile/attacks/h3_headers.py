"""HEADERS frames that claim 4 GiB, four on a connection, and what they claim."""

import asyncio

from wire.http3 import GIANT, HEADERS, frame, http3


async def attack(target):
    await giant(target, frame(HEADERS, length=GIANT))


async def giant(target, begin):
    async with http3(target) as it:
        if it is None:
            return

        async def fill():
            while target.goes_on() and not it.is_closed:
                stream = it.stream()
                await it.send(stream, begin)
                while target.goes_on() and stream not in it.reset:
                    await it.send(stream, bytes(65536))
                await asyncio.sleep(0.05)

        done = await asyncio.gather(*[fill() for _ in range(4)], return_exceptions=True)
        if not it.reset and not it.is_closed:
            target.fault("no stream was stopped")
        del done
