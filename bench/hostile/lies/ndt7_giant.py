"""A WebSocket's message that claims 2^62 bytes, and what it claims."""

from wire import websocket
from wire.ndt7_liar import Ndt7


class Lie(Ndt7):
    async def talk(self, it):
        await it.send(websocket.head(websocket.BINARY | websocket.FINAL, 1 << 62, masked=False))
        while True:
            await it.send(bytes(65536))
