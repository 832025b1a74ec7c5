"""SETTINGS of HTTP/3 that claim 4 GiB."""

from aioquic.quic.events import HandshakeCompleted

from wire.http3 import CONTROL, GIANT, SETTINGS, frame, number
from wire.quic_liar import Quic, QuicServer


class Giant(Quic):
    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            control = self._quic.get_next_available_stream_id(is_unidirectional=True)
            self._quic.send_stream_data(control, number(CONTROL) + frame(SETTINGS, length=GIANT) + bytes(32 << 20))
            self.transmit()


class Lie(QuicServer):
    speaker = Giant
