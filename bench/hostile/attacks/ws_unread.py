"""The echo of WebSockets with messages of 1,024 bytes, none of which comes back to a reader."""

from wire import websocket
from wire.link import link


async def attack(target):
    burst = websocket.frame(websocket.BINARY, bytes(1024)) * 100

    async def each(number):
        async with link(target, target.source(number % 10)) as it:
            if it:
                await websocket.upgraded(it)
                while target.goes_on():
                    await it.send(burst)

    await target.once(100, each)
