"""How much a server of HTTP/2 lets come (RFC 9113, 5.2), read from what it sends."""

import struct

from wire.http2 import INITIAL_WINDOW, SETTINGS, WINDOW_UPDATE
from wire.link import Closed

USUAL = 65535


class Windows:
    """Of one connection and one stream."""

    def __init__(self, stream):
        self.stream, self.of_connection, self.of_stream, self.initial = stream, USUAL, USUAL, USUAL
        self.rest = b""

    def room(self):
        return min(self.of_connection, self.of_stream)

    def take(self, length):
        self.of_connection -= length
        self.of_stream -= length

    def read(self, came):
        self.rest += came
        while len(self.rest) >= 9:
            length = int.from_bytes(self.rest[:3], "big")
            if len(self.rest) < 9 + length:
                return
            kind, flags, stream = struct.unpack(">BBI", self.rest[3:9])
            body, self.rest = self.rest[9:9 + length], self.rest[9 + length:]
            if kind == SETTINGS and not flags & 1:
                for at in range(0, length - 5, 6):
                    key, value = struct.unpack(">HI", body[at:at + 6])
                    if key == INITIAL_WINDOW:
                        self.of_stream += value - self.initial
                        self.initial = value
            elif kind == WINDOW_UPDATE:
                more = int.from_bytes(body, "big")
                if stream == 0:
                    self.of_connection += more
                elif stream == self.stream:
                    self.of_stream += more

    async def follow(self, it):
        self.read(it.first)
        try:
            while came := await it.receive():
                self.read(came)
        except Closed:
            pass
