"""Over irtt, HTTP/2, HTTP/3 and ndt7."""

import asyncio
import socket
import zlib

from aioquic.quic.events import HandshakeCompleted, StreamDataReceived

from lies import ANY, ERROR, lie, part, variant
from testbed import ECHO
from wire import http2, http3, irtt, websocket
from wire.elsewhere import OTHER
from wire.http2 import CONTINUATION, END_HEADERS, GOAWAY, HEADERS, PING, PUSH, frame, settings
from wire.http2_liar import OK, Http2
from wire.liar import ESCAPES, Server, stamps
from wire.ndt7_liar import Ndt7
from wire.quic_liar import Quic, QuicServer


# irtt alone.
class EchoServer(Server):
    scheme = "irtt"
    client = ()


@lie
class echo_elsewhere(EchoServer):
    """Echoes that come back from another address."""

    async def more(self):
        self.other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.other.bind((OTHER, ECHO))

    def echo(self, data, to, transport):
        if data[3] & irtt.OPEN:
            super().echo(data, to, transport)
        else:
            self.other.sendto(self.reply(data), to)


@lie
class echo_times(EchoServer):
    """Echoes with times beyond any sense: before and after all that was, backwards."""

    # Without a load there is no verdict anyway.
    may = ANY
    count = 0
    odd = [0, -1, 1, 2 ** 63 - 1, -2 ** 63, 10 ** 18, -10 ** 18, 2 ** 62]

    def agreed(self, data):
        # Both counts, stamps at receipt and at sending, of both clocks.
        return super().agreed(data) + b"".join(bytes([key]) + irtt.varint(3) for key in (5, 6, 7))

    def reply(self, data):
        self.count += 1
        odd = [self.odd[(self.count + n) % len(self.odd)] for n in range(4)]
        return data[:3] + bytes([irtt.REPLY]) + data[4:16] + bytes([255] * 12) + stamps(*odd) + data[60:]


@part("echo", EchoServer, may=ANY)
def echo_flood(server, data, to, transport):
    """500 answers to each echo: again, of other numbers, and of no session."""
    Server.echo(server, data, to, transport)
    if len(data) >= 16 and not data[3]:
        for n in range(500):
            number = (int.from_bytes(data[12:16], "little") + n * 7919) & 0xffffffff
            transport.sendto(server.reply(data[:12] + number.to_bytes(4, "little") + data[16:]), to)


@part("reply", EchoServer)
def echo_token(server, data):
    """Echoes of another session."""
    said = Server.reply(server, data)
    return said[:4] + b"tokenbad" + said[12:]


@part("agreed", EchoServer, may=ANY)
def echo_agreed(server, data):
    """An echo that agrees to what was not asked: every nanosecond, for a thousand years, of 64 kB."""
    pairs = [(irtt.VERSION, 1), (irtt.DURATION, 2 ** 62), (irtt.INTERVAL, 1), (irtt.LENGTH, 65535)]
    return irtt.MAGIC + b"\x03tokentok" + b"".join(bytes([key]) + irtt.varint(value) for key, value in pairs)


@part("echo", EchoServer)
def echo_silent(server, data, to, transport):
    """An echo that agrees, and echoes nothing."""
    if data[3] & irtt.OPEN:
        Server.echo(server, data, to, transport)


@part("reply", EchoServer, may=ANY)
def echo_giant(server, data):
    """Echoes of 60,000 bytes, and cut ones."""
    number = data[12]
    said = Server.reply(server, data)
    return said + bytes(60_000) if number % 2 else said[:number % 60 + 1]


# HTTP/2.
variant("h2_no_streams", "SETTINGS that allow no stream.", Http2, first=settings((3, 0)))


def floods(name, about, burst):
    """The same frames without end."""
    async def flood(server):
        while True:
            await server.send(burst)

    variant(name, about, Http2, lie=flood)


floods("h2_ping", "PING without end.", frame(PING, body=bytes(8)) * 1000)
floods("h2_settings", "SETTINGS without end.", settings((1, 4096)) * 1000)
floods("h2_hundreds", "Interim answers (103) without end in place of one.", frame(HEADERS, END_HEADERS, 1, b"\x08" + http2.string(b"103")) * 1000)


@part("lie", Http2)
async def h2_goaway(server):
    """GOAWAY at once, for a reason which is escape sequences."""
    await server.send(frame(GOAWAY, body=bytes(4) + b"\0\0\0\x0b" + ESCAPES.encode()))
    await Http2.lie(server)


@part("lie", Http2)
async def h2_header_endless(server):
    """An answer's header that goes on in CONTINUATION frames without end."""
    await server.send(frame(HEADERS, 0, 1, OK))
    while True:
        await server.send(frame(CONTINUATION, 0, 1, http2.literal(b"x", b"y" * 16000)))


@part("lie", Http2)
async def h2_hpack_bomb(server):
    """An answer's header of 16 kB that is 45 MB unpacked, again and again."""
    store = b"\x40" + http2.string(b"x") + http2.string(b"y" * 3900)
    for _ in range(200):
        await server.send(frame(HEADERS, END_HEADERS, 1, OK + store + http2.integer(62, 7, 0x80) * 11_000))
    await Http2.lie(server)


@part("lie", Http2)
async def h2_push(server):
    """Promises of what nobody asked for."""
    for stream in range(2, 20_000, 2):
        await server.send(frame(PUSH, END_HEADERS, 1, stream.to_bytes(4, "big") + http2.fields()))
    await Http2.lie(server)


@part("lie", Http2)
async def h2_giant_frame(server):
    """A frame of 16 MB, beyond what the client takes."""
    await server.send(frame(HEADERS, END_HEADERS, 1, OK) + b"\xff\xff\xff\0\0\0\0\0\x01")
    while True:
        await server.send(bytes(65536))


# QUIC and HTTP/3.
class GiantHeader(Quic):
    begun = False

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived) and event.stream_id % 4 == 0:
            self._quic.send_stream_data(event.stream_id, http3.frame(http3.HEADERS, length=http3.GIANT) + bytes(8 << 20))
            if not self.begun:
                self.begun = True
                control = self._quic.get_next_available_stream_id(is_unidirectional=True)
                self._quic.send_stream_data(control, http3.number(http3.CONTROL) + http3.frame(http3.SETTINGS))
            self.transmit()


class GiantSettings(Quic):
    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            control = self._quic.get_next_available_stream_id(is_unidirectional=True)
            said = http3.number(http3.CONTROL) + http3.frame(http3.SETTINGS, length=http3.GIANT)
            self._quic.send_stream_data(control, said + bytes(32 << 20))
            self.transmit()


class Closing(Quic):
    def datagram_received(self, data, address):
        self.server.over_quic += 1
        # Before the handshake's own answer goes out.
        self._quic.receive_datagram(data, address, now=asyncio.get_running_loop().time())
        self._quic.close(error_code=0x2, frame_type=0x6, reason_phrase=ESCAPES)
        self.transmit()


variant("h3_header_giant", "Answers over HTTP/3 whose HEADERS frame claims 4 GiB.", QuicServer, speaker=GiantHeader)
variant("h3_settings_giant", "SETTINGS of HTTP/3 that claim 4 GiB.", QuicServer, speaker=GiantSettings)
variant("h3_silent", "QUIC that shakes hands and then says nothing.", QuicServer)
variant("escapes_quic", "A connection of QUIC that closes within its handshake for a reason which is escape sequences.", QuicServer,
        may=ERROR, speaker=Closing)


# ndt7.
@part("talk", Ndt7)
async def ndt7_giant(_, it):
    """A WebSocket's message that claims 2^62 bytes, and what it claims."""
    await it.send(websocket.head(websocket.BINARY | websocket.FINAL, 1 << 62, masked=False))
    while True:
        await it.send(bytes(65536))


@part("talk", Ndt7, says="")
async def ndt7_notes(_, it):
    """Notes of ndt7 as fast as they are read."""
    note = b'{"AppInfo":{"ElapsedTime":1,"NumBytes":1},"TCPInfo":{"RTT":1,"MinRTT":1,"BytesAcked":1,"ElapsedTime":1}}'
    while True:
        await it.send(websocket.frame(websocket.TEXT, note, masked=False) * 500)


@part("talk", Ndt7)
async def ndt7_ping(_, it):
    """Pings of a WebSocket without end, pongs unread."""
    while True:
        await it.send(websocket.frame(websocket.PING, bytes(125), masked=False) * 500)


@part("talk", Ndt7)
async def ndt7_deep(_, it):
    """Notes of ndt7 that are brackets, numbers of 10^400 and escape sequences."""
    notes = [b'{"TCPInfo":' + b"[" * 20_000, b'{"TCPInfo":{"RTT":1e400,"MinRTT":-9223372036854775808,"BytesAcked":99999999999999999999}}',
             b'{"ConnectionInfo":{"Client":"' + ESCAPES.encode() + b'"}}']
    for note in notes * 100:
        await it.send(websocket.frame(websocket.TEXT, note, masked=False))
    await it.stall()


@part("talk", Ndt7, fields=("sec-websocket-extensions: permessage-deflate",))
async def ndt7_compressed(_, it):
    """A WebSocket that compresses unasked: 64 MB of zeros in 64 kB."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = deflate.compress(bytes(64 << 20)) + deflate.flush(zlib.Z_SYNC_FLUSH)
    await it.send(websocket.frame(websocket.BINARY, packed, extra=websocket.RSV1, masked=False))
    await it.stall()


@part("accept", Ndt7, may=ERROR)
def ndt7_accept(server, key):
    """An upgrade with another's key."""
    return Ndt7.accept(server, b"another")


@part("talk", Ndt7)
async def escapes_ndt7(_, it):
    """A WebSocket that closes for a reason which is escape sequences."""
    await it.send(websocket.frame(websocket.CLOSE, b"\x03\xe9" + ESCAPES.encode(), masked=False))
    await it.stall()
