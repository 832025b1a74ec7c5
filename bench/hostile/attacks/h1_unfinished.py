"""Bodies that are promised and never finished: uploads, and verdict requests of 512 KiB less a byte."""

from wire.http1 import request
from wire.link import link


async def attack(target):
    async def each(number):
        async with link(target, target.source(number % 20)) as it:
            if it:
                if number % 2:
                    await it.send(request("POST", "/upload", [("content-length", 1 << 32)]) + bytes(1000))
                else:
                    await it.send(request("POST", "/unbloat/v1/verdict", [("content-length", 1 << 19)]) + b" " * ((1 << 19) - 1))
                await it.wait_closed()

    await target.once(40, each)
