"""Frames without a mask, which a server must not take (RFC 6455, 5.1)."""

from wire import websocket
from wire.link import Closed, link


async def attack(target):
    async def lane(number):
        async with link(target, target.source(number)) as it:
            if it:
                await websocket.upgraded(it)
                await it.send(websocket.frame(websocket.TEXT, b"hello", masked=False))
                said = await it.receive()
                if b"hello" in said:
                    target.fault("a frame without a mask was echoed")
                await it.wait_closed()
                raise Closed

    await target.lanes(4, lane)
