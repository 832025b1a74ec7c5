"""A connection of QUIC that closes for a reason which is escape sequences."""

from wire.liar import ESCAPES
from wire.quic_liar import Quic, QuicServer


class Closing(Quic):
    def datagram_received(self, data, address):
        super().datagram_received(data, address)
        self._quic.close(error_code=0x2, frame_type=0x6, reason_phrase=ESCAPES)
        self.transmit()


class Lie(QuicServer):
    may = ("error",)
    speaker = Closing
