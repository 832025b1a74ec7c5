"""Pings of a WebSocket without end, pongs unread."""

from wire import websocket
from wire.ndt7_liar import Ndt7


class Lie(Ndt7):
    async def talk(self, it):
        while True:
            await it.send(websocket.frame(websocket.PING, bytes(125), masked=False) * 500)
