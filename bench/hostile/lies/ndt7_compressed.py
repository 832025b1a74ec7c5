"""A WebSocket that compresses unasked: 64 MB of zeros in 64 kB."""

import zlib

from wire import websocket
from wire.ndt7_liar import Ndt7


class Lie(Ndt7):
    fields = ("sec-websocket-extensions: permessage-deflate",)

    async def talk(self, it):
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = deflate.compress(bytes(64 << 20)) + deflate.flush(zlib.Z_SYNC_FLUSH)
        await it.send(websocket.frame(websocket.BINARY, packed, extra=websocket.RSV1, masked=False))
        await it.stall()
