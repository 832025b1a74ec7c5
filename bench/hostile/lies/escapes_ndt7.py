"""A WebSocket that closes for a reason which is escape sequences."""

from wire import websocket
from wire.liar import ESCAPES
from wire.ndt7_liar import Ndt7


class Lie(Ndt7):
    async def talk(self, it):
        await it.send(websocket.frame(websocket.CLOSE, b"\x03\xe9" + ESCAPES.encode(), masked=False))
        await it.stall()
