"""Downloads that nobody reads."""

from wire.http1 import request
from wire.link import link


async def attack(target):
    async def each(number):
        async with link(target, target.source(number % 10)) as it:
            if it:
                await it.send(request("GET", "/large"))
                await target.over()

    await target.once(200, each)
