"""WebSockets."""

import functools
import zlib

from attacks import lanes
from wire import websocket
from wire.link import Closed, link


@lanes(4, link)
async def ws_ping(_, it, number):
    """WebSocket pings of 125 bytes without end, pongs unread."""
    await websocket.upgraded(it)
    await it.flood(websocket.frame(websocket.PING, bytes(125)) * 500)


@lanes(4, link)
async def ws_fragments(_, it, number):
    """A message in fragments of one byte without end, and of none."""
    await websocket.upgraded(it)
    await it.send(websocket.frame(websocket.TEXT, b"a", final=0))
    await it.flood(websocket.frame(websocket.CONTINUED, b"a" * (number % 2), final=0) * 1000)


@lanes(6, link, closes=True)
async def ws_giant(_, it, number):
    """Messages that claim 2^62 bytes, on the echo, the load and ndt7, and what they claim."""
    ndt7 = "net.measurementlab.ndt.v7"
    paths = [("/unbloat/v1/ws", None), ("/ndt/v7/upload", ndt7), ("/ndt/v7/download", ndt7)]
    await websocket.upgraded(it, *paths[number % len(paths)])
    await it.send(websocket.head(websocket.BINARY | websocket.FINAL, 1 << 62))
    await it.flood(bytes(65536))


@lanes(4, link, closes=True)
async def ws_unmasked(target, it, number):
    """Frames without a mask, which a server must not take (RFC 6455, 5.1)."""
    await websocket.upgraded(it)
    await it.send(websocket.frame(websocket.TEXT, b"hello", masked=False))
    if b"hello" in await it.receive():
        target.fault("a frame without a mask was echoed")
    await it.wait_closed()
    raise Closed


@functools.cache
def bomb():
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflate.compress(bytes(64 << 20)) + deflate.flush(zlib.Z_SYNC_FLUSH)


@lanes(4, link, closes=True)
async def ws_deflate(_, it, number):
    """Messages said to be compressed (RFC 7692), whether the server agreed or not: 64 MiB of zeros in 64 kB."""
    await websocket.upgraded(it, fields=[("sec-websocket-extensions", "permessage-deflate")])
    it.read_away()
    await it.send(websocket.frame(websocket.BINARY, bomb() if number % 2 else bomb()[:1000], extra=websocket.RSV1))
    await it.wait_closed()


@lanes(100, link, anew=False, sources=10)
async def ws_unread(_, it, number):
    """The echo of WebSockets with messages of 1,024 bytes, none of which comes back to a reader."""
    await websocket.upgraded(it)
    await it.flood(websocket.frame(websocket.BINARY, bytes(1024)) * 100)
