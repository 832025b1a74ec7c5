"""HTTP/1.1 and TLS."""

import asyncio
import json
import random
import ssl

from attacks import attack, lanes
from wire.http1 import ask, request
from wire.http2 import http2
from wire.irtt import Speaker
from wire.link import context, link

CHUNKED = request("POST", "/upload", [("transfer-encoding", "chunked")])


# 10 s for TLS and a header, 30 s for what says nothing more, are promises of `serve --help`.
@attack(seconds=13, closes=True)
async def h1_slow_header(target):
    """Headers byte by byte, on 100 connections with TLS and 100 without (slowloris)."""
    async def each(number):
        async with link(target, target.source(number), tls=number % 2 == 0) as it:
            if it:
                await it.send(b"GET /small HTTP/1.1\r\nx: ")
                while target.goes_on():
                    await it.send(b"y")
                    await asyncio.sleep(0.3)

    await target.once(200, each)


@lanes(16, link, closes=True)
async def h1_giant_header(_, it, number):
    """Header fields without end, on 16 connections."""
    await it.send(b"GET /small HTTP/1.1\r\nhost: a\r\n")
    await it.flood(b"x: " + b"y" * 16000 + b"\r\n")


@lanes(25, link)
async def h1_chunks(target, it, number):
    """Chunks that claim 2^64-1 bytes, more digits than a number has, and extensions without end."""
    sizes = [b"ffffffffffffffff\r\n", b"f" * 200 + b"\r\n", b"-1\r\n", b"7fffffffffffffff\r\n", b"1;" + b"x" * 200_000]
    it.read_away()
    await it.send(CHUNKED)
    await it.send(sizes[number % len(sizes)])
    while target.goes_on() and not it.is_closed:
        await it.send(bytes(1000))
        await asyncio.sleep(0.02)


@lanes(4, link)
async def h1_bytes_of_chunks(_, it, number):
    """Uploads in chunks of one byte, as fast as they are taken."""
    it.read_away()
    await it.send(CHUNKED)
    await it.flood(b"1\r\nx\r\n" * 2000)


async def verdict_path(target, source=None):
    _, opened = await ask(target, "POST", "/unbloat/v1/session", source=source)
    session = json.loads(opened.split(b"\r\n\r\n", 1)[1])["session"]
    return f"/unbloat/v1/verdict?session={session}"


# 1 MiB a judgement, and as much again where its buffer grew.
@attack(mib=96)
async def h1_unfinished(target):
    """Bodies that are promised and never finished: uploads, and verdict requests of 512 KiB less a byte."""
    verdict = await verdict_path(target)

    async def each(number):
        async with link(target, target.source(number % 20)) as it:
            if it:
                if number % 2:
                    await it.send(request("POST", "/upload", [("content-length", 1 << 32)]) + bytes(1000))
                else:
                    await it.send(request("POST", verdict, [("content-length", 1 << 19)]) + b" " * ((1 << 19) - 1))
                await it.wait_closed()

    await target.once(40, each)


def pages_run(stages, samples):
    stage = {"name": "down", "start_ms": 0, "end_ms": 1000}
    watched = {"hidden_ms": 0, "late_p95_ms": 1, "failures": [], "lanes": 8, "lanes_lost": 0, "interval_ms": 20, "network_changed": False,
               "connections": 16, "congestion_control": None, "limit_bps": None}
    said = {"stages": [stage] * stages, "samples": samples, "unanswered": [], "down": [], "up": [], "watched": watched}
    return json.dumps(said, separators=(",", ":")).encode()


@attack()
async def verdicts(target):
    """Runs of the page that would take seconds to judge: 6,000 stages over 30,000 messages, on as many lanes as fit."""
    # Within 512 KiB.
    bodies = [pages_run(2000, [[n % 8, n % 1000, 1] for n in range(30_000)]), pages_run(1, [[n, n % 1000, 1] for n in range(31_000)])]

    async def lane(number):
        source = target.source(number)
        path = await verdict_path(target, source)
        while target.goes_on():
            async with link(target, source) as it:
                if it:
                    body = bodies[number % 2]
                    await it.send(request("POST", path, [("content-length", len(body))]) + body)
                    await it.status()

    await target.lanes(8, lane)


@lanes(16, link)
async def h1_pipeline(_, it, number):
    """Requests without end on a connection, no answer read."""
    await it.flood(request("GET", "/.well-known/nq") * 500)


# Little: the kernel's memory for TCP is one here for both sides, and the server's is to be seen.
ROOM = {"room": 16384}


@lanes(200, link, anew=False, sources=10, opening=ROOM)
async def h1_unread(target, it, number):
    """Downloads that nobody reads."""
    await it.send(request("GET", "/large"))
    await target.over()


@lanes(1000, link, anew=False, sources=100, opening={"tls": None}, seconds=14, closes=True)
async def tls_half(_, it, number):
    """Half handshakes of TLS: 1,000 connections of 100 addresses send the first bytes of a hello and wait."""
    # A record of 512 bytes, of which 100 come.
    await it.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(89))
    await it.wait_closed()


def hello():
    """A ClientHello; each may be sent by many connections."""
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context(["h2"]).wrap_bio(into, out, server_hostname="bench")
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        return out.read()


@attack()
async def tls_hellos(target):
    """Handshakes that the client leaves after the server has computed its part, again and again."""
    said = hello()

    async def lane(number):
        async with link(target, target.source(number), tls=None) as it:
            if it:
                await it.send(said)
                if not await it.receive(1000) and target.goes_on():
                    target.counts.errors.append("no answer to a hello")

    target.counts.lanes += 8
    # We leave: nothing is for the server to close.
    await target.lanes(8, lane)


class Silent(Speaker):
    def datagram_received(self, data, _):
        self.got += len(data)
        if self.got > self.went:
            self.target.fault(f"{self.got} bytes to an address that sent {self.went}")


@lanes(4, link, opening={"tls": None})
async def tls_small_records(target, it, _):
    """Uploads in records of TLS that hold a byte each."""
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context(["http/1.1"]).wrap_bio(into, out, server_hostname="bench")
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            await it.send(out.read())
            into.write(await it.receive())
    tls.write(request("POST", "/upload", [("content-length", "1000000000000")]))
    it.read_away()
    while target.goes_on():
        for _ in range(2000):
            tls.write(b"a")
        await it.send(out.read())


@attack(closes=True)
async def garbage(target):
    """Random bytes, to every port, over TCP, over TLS and as datagrams."""
    dice = random.Random(7)
    loop = asyncio.get_running_loop()
    _, quic = await loop.create_datagram_endpoint(lambda: Silent(target), remote_addr=(target.address, target.tls))

    async def lane(number):
        opened = [link(target, tls=None), link(target, tls=False), link(target), http2(target)][number % 4]
        async with opened as it:
            if it:
                it.read_away()
                for _ in range(20):
                    await it.send(dice.randbytes(dice.randrange(1, 5000)))
                    quic.send(dice.randbytes(dice.randrange(1, 1400)))
                await asyncio.sleep(0.1)

    await target.lanes(16, lane)
