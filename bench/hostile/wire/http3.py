"""QUIC by aioquic, and HTTP/3's frames (RFC 9114) by hand above it."""

import asyncio
import contextlib
import socket
import ssl

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection, QuicConnectionError
from aioquic.quic.events import ConnectionTerminated, StreamReset
from aioquic.quic.packet_builder import QuicPacketBuilderStop

from wire.link import Closed

DATA, HEADERS, CANCEL_PUSH, SETTINGS = 0, 1, 3, 4
CONTROL, ENCODER, DECODER = 0, 2, 3
# Not yet acknowledged, at most: aioquic would hold whatever it is given.
UNSENT = 1 << 18
GIANT = 1 << 32


def number(value):
    """RFC 9000, 16."""
    for size, prefix in ((1, 0), (2, 1), (4, 2), (8, 3)):
        if value < 1 << (8 * size - 2):
            return (value | prefix << (8 * size - 2)).to_bytes(size, "big")
    raise ValueError(value)


def frame(kind, body=b"", length=None):
    """With a length of its own, or one that it claims."""
    return number(kind) + number(len(body) if length is None else length) + body


def literal(name, value):
    """RFC 9204, 4.5.6, lengths by RFC 7541."""
    from wire.http2 import integer
    return integer(len(name), 3, 0x20) + name + integer(len(value), 7) + value


def fields(method=b"GET", path=b"/small"):
    pairs = ((b":method", method), (b":scheme", b"https"), (b":authority", b"bench"), (b":path", path))
    return b"\0\0" + b"".join(literal(*pair) for pair in pairs)


def ask(method=b"GET", path=b"/small"):
    return frame(HEADERS, fields(method, path))


class Speaker(QuicConnectionProtocol):
    """One connection; notes how the server ends it, and which streams it resets."""

    def __init__(self, quic, target):
        super().__init__(quic)
        self.target, self.reset, self.is_closed = target, set(), False
        self.came = 0

    def quic_event_received(self, event):
        if isinstance(event, ConnectionTerminated):
            self.is_closed = True
        elif isinstance(event, StreamReset):
            self.reset.add(event.stream_id)

    def check(self):
        if self.is_closed:
            raise Closed

    def put(self, stream, data, end=False):
        """Without waiting."""
        self.check()
        with contextlib.suppress(QuicConnectionError, QuicPacketBuilderStop):
            try:
                self._quic.send_stream_data(stream, data, end)
            except (AssertionError, RuntimeError, ValueError):
                # The server stopped or the bench reset this stream.
                self.reset.add(stream)
        self.target.counts.sent += len(data)
        self.transmit()

    async def send(self, stream, data, end=False):
        """Waits while much is under way."""
        self.put(stream, data, end)
        sender = self._quic._streams[stream].sender if stream in self._quic._streams else None
        while sender and self.target.goes_on() and not self.is_closed and stream not in self.reset:
            if sender._buffer_stop - sender._buffer_start < UNSENT:
                break
            if sender.reset_pending or sender._reset_error_code is not None:
                self.reset.add(stream)
            await asyncio.sleep(0.005)
        await asyncio.sleep(0)
        self.check()

    async def flood(self, stream, data):
        """The same again and again, until the attack is over."""
        while self.target.goes_on():
            await self.send(stream, data)

    def begin(self, settings=b""):
        """The control stream with SETTINGS."""
        self.control = self._quic.get_next_available_stream_id(is_unidirectional=True)
        self.put(self.control, number(CONTROL) + frame(SETTINGS, settings))

    def stream(self, one_way=False):
        made = self._quic.get_next_available_stream_id(is_unidirectional=one_way)
        if made not in self._quic._streams:
            self.check()
            self._quic.send_stream_data(made, b"")
        return made

    def heed_no_limits(self):
        """Of streams; those of data stay, or aioquic would drown in what it keeps."""
        self._quic._remote_max_streams_uni = self._quic._remote_max_streams_bidi = 1 << 60


@contextlib.asynccontextmanager
async def http3(target, source=None, begins=True):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name="bench", idle_timeout=60.0)
    configuration.verify_mode = ssl.CERT_NONE
    local = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    local.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    local.bind((source or target.source(), 0))
    quic = QuicConnection(configuration=configuration)
    loop = asyncio.get_running_loop()
    transport, this = await loop.create_datagram_endpoint(lambda: Speaker(quic, target), sock=local)
    is_made = False
    try:
        this.connect((target.address, target.tls))
        try:
            await asyncio.wait_for(this.wait_connected(), 10)
            is_made = True
            target.counts.made += 1
        except (ConnectionError, asyncio.TimeoutError):
            target.counts.refused += 1
            yield None
            return
        with contextlib.suppress(Closed):
            if begins:
                this.begin()
            yield this
    finally:
        if is_made:
            if this.is_closed:
                target.counts.closed += 1
            elif not target.goes_on():
                target.counts.held += 1
        if not this.is_closed:
            this.close()
            await asyncio.sleep(0)
        transport.close()
