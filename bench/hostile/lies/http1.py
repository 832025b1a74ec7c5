"""Over HTTP/1.1 without TLS."""

import asyncio
import gzip
import json
import time

from lies import ANY, ERROR, lie, part, variant
from wire.elsewhere import OTHER, Elsewhere
from wire.liar import ESCAPES, Server

variant("honest", "No lie: the honest server that the lies are variations of.", may=("complete", "doubt"))

# Load that goes to others.
variant("endpoint_plain", "`test_endpoint` names a third party, without TLS: the load, the account and the token would be its.", Elsewhere,
        client=("--http", "1.1", "--token", "SECRET"))
variant("endpoint_loopback", "`test_endpoint` names an address of the client's own host.", Elsewhere, other="127.0.0.77")


@part("opened", Elsewhere)
def endpoint_echo(server):
    """`test_endpoint` names a third party and the session port 53, for datagrams."""
    return {**Server.opened(server), "echo_port": 53}


@part("describe", may=ERROR)
def urls_elsewhere(server):
    """URLs on a third party's host."""
    at = f"http://{OTHER}:{server.port}"
    return {"version": 1, "urls": {"small_download_url": f"{at}/small", "large_download_url": f"{at}/large", "upload_url": f"{at}/upload"}}


@part("description")
async def redirect_description(server, it):
    """The description is elsewhere: a redirect to a third party."""
    await it.say(302, b"", [f"location: http://{OTHER}:{server.port}/.well-known/nq"])


async def moved(server, it):
    await it.say(307, b"", [f"location: http://{OTHER}:{server.port}{it.path}"])
    await it.reader.read(1 << 16)


variant("redirect_load", "The loads are elsewhere: redirects to a third party.", large=moved, upload=moved, small=moved, may=Server.may)


@part("session")
async def redirect_session(server, it):
    """The session is elsewhere: a redirect to a third party."""
    await it.say(307, b"", [f"location: http://{OTHER}:{server.port}/unbloat/v1/session"])


# The account.
async def flood(it, lines):
    await it.begin(200, chunked=True)
    for at in range(0, len(lines), 60_000):
        await it.chunk(lines[at:at + 60_000])
    await it.stall()


def of_flows(many):
    flows = ",".join(f'{{"flow":{n},"direction":"up","connection":1,"open":true,"bytes":0}}' for n in range(many))
    return b'{"time_ns":1,"flows":[%s]}\n' % flows.encode()


@part("account")
async def account_small(_, it):
    """1,024 flows, then 300 kB of lines that say nothing new."""
    await flood(it, of_flows(1024) + b'{"time_ns":2}\n' * 20_000)


@part("account")
async def account_kernel(_, it):
    """1,024 flows on one connection, and 3,000 lines of its kernel's state."""
    await flood(it, of_flows(1024) + b'{"time_ns":2,"connections":[{"connection":1,"tcp":{"rtt_ms":1.5,"acked_bytes":7}}]}\n' * 3_000)


@part("account")
async def account_endless(server, it):
    """Lines of the account as fast as they are read."""
    await it.begin(200, chunked=True)
    while True:
        await it.chunk((json.dumps(server.line()).encode() + b"\n") * 200)


@part("account")
async def account_one_line(_, it):
    """A line of the account that never ends."""
    await it.begin(200, chunked=True)
    await it.chunk(b'{"time_ns":1,"x":"')
    while True:
        await it.chunk(b"y" * 60_000)


@part("account")
async def account_numbers(_, it):
    """Numbers of the account beyond any sense: times of 2^63, bytes of 2^64, round trips of 10^300 ms, clocks that go back."""
    await it.begin(200, chunked=True)
    await it.chunk(b'{"time_ns":1,"flows":[{"flow":0,"direction":"down","connection":1,"open":true,"bytes":18446744073709551615},'
                   b'{"flow":1,"direction":"up","connection":2,"open":true,"bytes":1}]}\n')
    while True:
        for at in [2 ** 63 - 1, -2 ** 63, 0, -1, 2 ** 62, 10 ** 18]:
            odd = (b'{"time_ns":%d,"bytes":[[0,18446744073709551615],[1,0],[65535,1]],"connections":[{"connection":1,"tcp":'
                   b'{"rtt_ms":1e300,"min_rtt_ms":-1e300,"cwnd_bytes":18446744073709551615,"delivery_rate_bps":1e308,"busy_ms":-5}}]}\n')
            await it.chunk(odd % at)
            await asyncio.sleep(0.05)


@part("account")
async def account_silent(_, it):
    """An account that begins and says nothing."""
    await it.begin(200, chunked=True)
    await it.stall()


@part("account")
async def account_cut(_, it):
    """An account that ends in the middle of a line."""
    await it.begin(200, chunked=True)
    await it.chunk(b'{"time_ns":1}\n{"time_ns":')
    raise OSError


# Escape sequences of a terminal.
@part("description")
async def escapes_body(_, it):
    """A refusal whose words are escape sequences of a terminal."""
    await it.say(403, ESCAPES.encode())


@part("description")
async def escapes_reason(_, it):
    """A status line and a header that are escape sequences."""
    await it.send(f"HTTP/1.1 403 {ESCAPES}\r\nx: {ESCAPES}\r\ncontent-length: 0\r\n\r\n".encode())


@part("session", may=ERROR)
async def escapes_session(_, it):
    """A refusal of the session whose words are escape sequences."""
    await it.take_body()
    await it.say(429, (ESCAPES * 100).encode())


@part("description")
async def escapes_description(_, it):
    """URLs, versions and hosts of the description that are escape sequences."""
    said = {"version": 1, "urls": {"small_download_url": ESCAPES, "large_download_url": ESCAPES, "upload_url": ESCAPES}}
    await it.say(200, json.dumps(said, ensure_ascii=False).encode())


@part("account")
async def escapes_account(_, it):
    """Words of the account that are escape sequences, where numbers and directions are due."""
    await it.begin(200, chunked=True)
    flow = {"flow": 0, "direction": ESCAPES, "connection": 1, "open": True, "bytes": 0}
    await it.chunk(json.dumps({"time_ns": 1, "flows": [flow]}, ensure_ascii=False).encode() + b"\n")
    await it.stall()


# Headers, bodies and JSON.
@part("description")
async def header_giant(_, it):
    """A field of the answer's header that never ends."""
    await it.send(b"HTTP/1.1 200 OK\r\nx: ")
    while True:
        await it.send(b"y" * 65536)


@part("description")
async def header_many(_, it):
    """Fields of the answer's header without end."""
    await it.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        await it.send(b"x: y\r\n" * 10_000)


async def drip(it, byte):
    while True:
        await it.send(byte)
        await asyncio.sleep(0.5)


@part("description")
async def header_drip(_, it):
    """The answer's header byte by byte, one in half a second."""
    await it.send(b"HTTP/1.1 200 OK\r\nx: ")
    await drip(it, b"y")


@part("description")
async def body_drip(_, it):
    """The description byte by byte, one in half a second."""
    await it.begin(200, length=1000)
    await drip(it, b" ")


@part("description")
async def body_endless(_, it):
    """A description that never ends."""
    await it.begin(200, chunked=True)
    while True:
        await it.chunk(b" " * 65536)


@part("description")
async def body_compressed(_, it):
    """A description said to be compressed: 40 MB of blanks in 40 kB."""
    await it.say(200, gzip.compress(b" " * 40_000_000), ["content-encoding: gzip"])


@part("description")
async def body_giant_length(_, it):
    """A description that claims 2^63 bytes."""
    await it.begin(200, length=2 ** 63 - 1)
    await it.stall()


@part("description")
async def hundreds(_, it):
    """Interim answers (100) without end in place of one."""
    while True:
        await it.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


@part("description")
async def json_deep(_, it):
    """A description of 60,000 brackets."""
    await it.say(200, b'{"version":1,"urls":' + b"[" * 60_000)


@part("description")
async def json_numbers(_, it):
    """A version of 10^400, and urls that are a number of 60,000 digits."""
    await it.say(200, b'{"version":1e400,"urls":' + b"9" * 60_000 + b"}")


@part("session")
async def json_endless(_, it):
    """A session that never ends its answer."""
    await it.take_body()
    await it.begin(201, chunked=True)
    await it.chunk(b'{"session":"')
    while True:
        await it.chunk(b"a" * 65536)


@part("opened")
def session_numbers(server):
    """A session with port 70,000 of the echo, version 2^70, life of -1 s."""
    return {**Server.opened(server), "version": 2 ** 70, "echo_port": 70_000, "expires_s": -1}


@part("opened")
def session_nan(server):
    """A session whose numbers are NaN and Infinity."""
    odd = {"echo_port": float("nan"), "expires_s": float("inf"), "limits": {"rate_bps": float("-inf")}}
    return {**Server.opened(server), **odd}


@part("opened")
def session_path(server):
    """A session whose name is a path and a header."""
    return {**Server.opened(server), "session": "../../../etc/passwd?\r\nx: y"}


# Load and probes.
@part("large")
async def load_stalls(_, it):
    """Downloads that begin and never go on."""
    await it.begin(200, length=8 << 30)
    await it.stall()


async def closes(*_):
    raise OSError


variant("load_closes", "Loads whose connections close at once.", large=closes, upload=closes)


@part("large", may=ANY)
async def load_resets(_, it):
    """Loads of ten bytes, again and again."""
    await it.say(200, bytes(10))


@part("small")
async def small_endless(_, it):
    """Answers to probes of 8 GB, where a byte is due."""
    await it.begin(200, length=8 << 30)
    while True:
        await it.send(bytes(65536))


async def stalls(_, it):
    await it.stall()


variant("upload_unread", "Uploads that nobody reads.", upload=stalls)


@part("upload")
async def upload_answered(_, it):
    """Uploads that are answered before they have begun: all was received, 2^64 bytes."""
    await it.say(200, b'{"received_bytes":18446744073709551616}')
    while await it.reader.read(65536):
        pass


@lie
class freeze(Server):
    """Everything stands still three seconds after its start."""

    def is_frozen(self):
        return time.monotonic() - self.begun > 3

    async def answer(self, it):
        if self.is_frozen():
            await it.stall()
        await super().answer(it)

    async def large(self, it):
        await it.begin(200, length=8 << 30)
        while not self.is_frozen():
            await it.send(bytes(4096))
        await it.stall()

    def echo(self, data, to, transport):
        if not self.is_frozen():
            super().echo(data, to, transport)


@part("connection", may=ERROR)
async def stall_accept(*_):
    """A port that takes connections and says nothing."""
    await asyncio.sleep(3600)


variant("stall_description", "The description is asked for and never comes.", description=stalls)
variant("stall_session", "The session is asked for and never comes.", session=stalls)
variant("stall_account", "The account is asked for and never comes.", account=stalls)
variant("stall_small", "Probes are never answered.", small=stalls)
variant("stall_close", "The end of the session is never answered.", close_session=stalls)
