"""Answers over HTTP/3 whose HEADERS frame claims 4 GiB."""

from aioquic.quic.events import StreamDataReceived

from wire.http3 import CONTROL, GIANT, HEADERS, SETTINGS, frame, number
from wire.quic_liar import Quic, QuicServer


class Giant(Quic):
    begun = False

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived) and event.stream_id % 4 == 0:
            self._quic.send_stream_data(event.stream_id, frame(HEADERS, length=GIANT) + bytes(8 << 20))
            if not self.begun:
                self.begun = True
                control = self._quic.get_next_available_stream_id(is_unidirectional=True)
                self._quic.send_stream_data(control, number(CONTROL) + frame(SETTINGS))
            self.transmit()


class Lie(QuicServer):
    speaker = Giant
