"""WebSocket's handshake and frames (RFC 6455)."""

import struct

from wire.http1 import request
from wire.link import Closed

TEXT, BINARY, CLOSE, PING = 1, 2, 8, 9
CONTINUED, FINAL = 0, 0x80
# "Compressed" with permessage-deflate.
RSV1 = 0x40


def head(first, length, masked=True):
    """A frame's head, whatever follows it."""
    mask = 0x80 if masked else 0
    if length < 126:
        out = bytes([first, mask | length])
    elif length < 1 << 16:
        out = bytes([first, mask | 126]) + struct.pack(">H", length)
    else:
        out = bytes([first, mask | 127]) + struct.pack(">Q", length)
    # A mask of zeros leaves the payload as it is.
    return out + (bytes(4) if masked else b"")


def frame(kind, payload=b"", final=FINAL, extra=0, masked=True):
    return head(kind | final | extra, len(payload), masked) + payload


async def upgrade(it, path="/unbloat/v1/ws", protocol=None, fields=()):
    """Status of the answer; 101 if the connection speaks it now."""
    every = [("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "13"),
             ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="), *fields]
    if protocol:
        every.append(("sec-websocket-protocol", protocol))
    await it.send(request("GET", path, every))
    return await it.status()


async def upgraded(it, *args, **options):
    """Only with it."""
    if await upgrade(it, *args, **options) != 101:
        raise Closed
