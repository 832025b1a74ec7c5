"""A connection of QUIC that closes within its handshake for a reason which is escape sequences."""

import asyncio

from wire.liar import ESCAPES
from wire.quic_liar import Quic, QuicServer


class Closing(Quic):
    def datagram_received(self, data, address):
        self.server.over_quic += 1
        # Before the handshake's own answer goes out.
        self._quic.receive_datagram(data, address, now=asyncio.get_running_loop().time())
        self._quic.close(error_code=0x2, frame_type=0x6, reason_phrase=ESCAPES)
        self.transmit()


class Lie(QuicServer):
    may = ("error",)
    speaker = Closing
