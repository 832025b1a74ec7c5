"""Frames of HTTP/2 (RFC 9113, 4.1) and fields of HPACK (RFC 7541) that no library would send."""

import contextlib
import struct

from wire.link import link

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS = 1, 1, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# Of SETTINGS (6.5.2).
TABLE_SIZE, INITIAL_WINDOW = 1, 4


def frame(kind, flags=0, stream=0, body=b""):
    return struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body


def settings(*pairs):
    return frame(SETTINGS, body=b"".join(struct.pack(">HI", *pair) for pair in pairs))


def integer(value, bits, first=0):
    """RFC 7541, 5.1."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out, value = [first | most], value - most
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def string(text):
    return integer(len(text), 7) + text


def literal(name, value):
    """A field that enters no table."""
    return b"\0" + string(name) + string(value)


def fields(method=b"GET", path=b"/large"):
    by_number = {b"GET": b"\x82", b"POST": b"\x83"}
    return by_number[method] + b"\x87" + b"\x41" + string(b"bench") + b"\x44" + string(path)


def ask(stream, method=b"GET", path=b"/large", flags=None):
    if flags is None:
        flags = END_HEADERS | (END_STREAM if method == b"GET" else 0)
    return frame(HEADERS, flags, stream, fields(method, path))


@contextlib.asynccontextmanager
async def http2(target, source=None, reads=True, first=settings(), room=None):
    """A connection that has begun, the server's SETTINGS acknowledged: before that it grants nothing of them. None if it was refused."""
    async with link(target, source, alpn=["h2"], room=room) as it:
        if it is not None:
            await it.send(PREFACE + first)
            it.first = await it.receive()
            await it.send(frame(SETTINGS, ACK))
            if reads:
                it.read_away()
        yield it
