"""Bodies that are promised and never finished: uploads, and verdict requests of 512 KiB less a byte."""

import json

from wire.http1 import ask, request
from wire.link import link


async def attack(target):
    _, opened = await ask(target, "POST", "/unbloat/v1/session")
    session = json.loads(opened.split(b"\r\n\r\n", 1)[1])["session"]
    verdict = f"/unbloat/v1/verdict?session={session}"

    async def each(number):
        async with link(target, target.source(number % 20)) as it:
            if it:
                if number % 2:
                    await it.send(request("POST", "/upload", [("content-length", 1 << 32)]) + bytes(1000))
                else:
                    await it.send(request("POST", verdict, [("content-length", 1 << 19)]) + b" " * ((1 << 19) - 1))
                await it.wait_closed()

    await target.once(40, each)
