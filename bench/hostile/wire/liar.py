"""A server of tests as `unbloat test` expects it, over HTTP/1.1, each part of which a lie may replace."""

import asyncio
import contextlib
import json
import ssl
import struct
import time

from testbed import ECHO, SERVER, TLS
from wire import certificate, irtt

# 50 Mbit/s a connection.
PIECE, EVERY_S = 65536, 0.0105
SESSION = "0123456789abcdef0123456789abcdef"
# What would change a terminal: a title, a cleared screen, a colour; and DEL and C1.
ESCAPES = "\x1b]0;OWNED\x07\x1b[2J\x1b[31mgrade A+\x7f\x9b31m"


class Server:
    """Told the truth, for a beginning."""

    scheme = "http"
    # Of the client, besides stages.
    client = ("--http", "1.1")
    # http, https, irtt, ndt7+http; the path of a URL.
    path = ""
    port = TLS
    host = SERVER
    # How the client may end: error (1), doubt (5), complete (0).
    may = ("error", "doubt")
    # Bounds of the client, which takes some 45 MiB for the truth.
    seconds, mib = 40, 96
    # Bytes to others that are no fault.
    spared = 0
    # What its text must say, by a regular expression.
    says = ""
    alpn = ("http/1.1",)

    def __init__(self, folder):
        self.folder, self.flows, self.connections, self.asked = folder, {}, 0, 0
        self.begun = time.monotonic()

    # What the client is given.
    def make_certificate(self):
        return certificate.make(self.folder)

    @property
    def certificate(self):
        """Made once, in the folder."""
        return certificate.made(self.folder) or self.make_certificate()

    def trust(self):
        return ["--pin", self.certificate.pin]

    def target(self):
        return f"{self.scheme}://{self.host}:{ECHO if self.scheme == 'irtt' else self.port}{self.path}"

    def command(self):
        secure = self.trust() if self.scheme == "https" else []
        return [self.target(), *secure, *self.client]

    # How it is run.
    async def run(self, ready, ends):
        tls = self.tls = None
        if self.scheme == "https":
            tls = self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(self.certificate.chain, self.certificate.key)
            tls.set_alpn_protocols(list(self.alpn))
            # Who comes and leaves within the handshake came, too.
            tls.sni_callback = lambda *_: self.count()
        server = await asyncio.start_server(self.accepted, SERVER, self.port, ssl=tls, limit=1 << 17)
        loop = asyncio.get_running_loop()
        echo, _ = await loop.create_datagram_endpoint(lambda: Echo(self), local_addr=(SERVER, ECHO))
        await self.more()
        ready()
        while not ends():
            await asyncio.sleep(0.05)
        server.close()
        echo.close()

    def count(self):
        self.asked += 1

    async def more(self):
        """Whatever else is to listen."""

    async def accepted(self, reader, writer):
        self.connections += 1
        self.asked += 1
        try:
            await self.connection(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.transport.abort()

    async def connection(self, reader, writer):
        while header := await self.header(reader):
            method, path, _ = header.split("\r\n", 1)[0].split(" ", 2)
            path, _, query = path.partition("?")
            length = next((int(line.split(":")[1]) for line in header.lower().split("\r\n") if line.startswith("content-length:")), 0)
            it = Request(self, reader, writer, method, path, query, length, "chunked" in header.lower())
            await self.answer(it)

    async def header(self, reader):
        try:
            return (await reader.readuntil(b"\r\n\r\n")).decode(errors="replace")
        except asyncio.IncompleteReadError:
            return ""

    async def answer(self, it):
        handlers = {"/.well-known/nq": self.description, "/small": self.small, "/large": self.large, "/upload": self.upload,
                    "/unbloat/v1/session": self.session}
        if it.path in handlers:
            await handlers[it.path](it)
        elif it.path.endswith("/account"):
            await self.account(it)
        elif it.path.startswith("/unbloat/v1/session/"):
            await self.close_session(it)
        else:
            await it.say(404, b"nothing here")

    # What it says.
    def endpoint(self):
        """Where the tests are to go instead."""

    def describe(self):
        at = f"{self.scheme}://{self.host}:{self.port}"
        said = {"version": 1, "urls": {"small_download_url": f"{at}/small", "large_download_url": f"{at}/large", "upload_url": f"{at}/upload"}}
        return {**said, "test_endpoint": self.endpoint()} if self.endpoint() else said

    async def description(self, it):
        await it.say(200, json.dumps(self.describe()).encode())

    def opened(self):
        return {"session": SESSION, "version": 1, "echo_port": ECHO, "expires_s": 120, "limits": {}}

    async def session(self, it):
        await it.take_body()
        await it.say(201, json.dumps(self.opened()).encode())

    async def close_session(self, it):
        await it.say(204, b"")

    async def small(self, it):
        await it.say(200, b".")

    async def large(self, it):
        await it.begin(200, length=8 << 30)
        with self.flow(it, "down") as flow:
            while True:
                await it.send(bytes(PIECE))
                flow["bytes"] += PIECE
                await asyncio.sleep(EVERY_S)

    async def upload(self, it):
        with self.flow(it, "up") as flow:
            while piece := await it.reader.read(PIECE):
                flow["bytes"] += len(piece)
                await asyncio.sleep(EVERY_S * len(piece) / PIECE)

    @contextlib.contextmanager
    def flow(self, it, direction):
        number = int(next((pair[5:] for pair in it.query.split("&") if pair.startswith("flow=")), 0))
        now = time.monotonic_ns()
        flow = {"flow": number, "direction": direction, "connection": self.connections, "open": True, "bytes": 0, "start_ns": now,
                "last_ns": now, "told": False}
        self.flows[number] = flow
        try:
            yield flow
        finally:
            flow["open"], flow["told"] = False, False

    def line(self):
        """The account's next one."""
        new = [flow for flow in self.flows.values() if not flow["told"]]
        told = [{key: value for key, value in flow.items() if key != "told"} for flow in new]
        for flow in new:
            flow["told"] = True
        moved = [[flow["flow"], flow["bytes"]] for flow in self.flows.values() if flow["open"] and flow not in new]
        return {"time_ns": time.monotonic_ns(), "flows": told, "bytes": moved}

    async def account(self, it):
        await it.begin(200, chunked=True)
        while True:
            await it.chunk(json.dumps(self.line()).encode() + b"\n")
            await asyncio.sleep(0.05)

    # Datagrams.
    def echo(self, data, to, transport):
        if data[3] & irtt.OPEN:
            transport.sendto(self.agreed(data), to)
        elif not data[3] & irtt.CLOSE and len(data) >= 16:
            transport.sendto(self.reply(data), to)

    def agreed(self, data):
        """Without the padding, with nothing about stamps and counts."""
        pairs, at = [], 4
        while at + 1 < len(data) and data[at] < 9:
            end = at + 1
            while data[end] & 128:
                end += 1
            if data[at] in (irtt.VERSION, irtt.DURATION, irtt.INTERVAL, irtt.LENGTH):
                pairs.append(data[at:end + 1])
            at = end + 1
        return irtt.MAGIC + bytes([irtt.OPEN | irtt.REPLY]) + b"tokentok" + b"".join(pairs)

    def reply(self, data):
        return data[:3] + bytes([irtt.REPLY]) + data[4:]


class Echo(asyncio.DatagramProtocol):
    def __init__(self, server):
        self.server = server

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, to):
        self.server.asked += 1
        if len(data) >= 4:
            self.server.echo(data, to, self.transport)


class Request:
    def __init__(self, server, reader, writer, method, path, query, length, is_chunked):
        self.server, self.reader, self.writer = server, reader, writer
        self.method, self.path, self.query, self.length, self.is_chunked = method, path, query, length, is_chunked

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def take_body(self):
        if self.length:
            await self.reader.readexactly(self.length)

    async def begin(self, status, length=None, chunked=False, fields=()):
        lines = [f"HTTP/1.1 {status} Said", "content-type: application/json", *fields]
        if chunked:
            lines.append("transfer-encoding: chunked")
        elif length is not None:
            lines.append(f"content-length: {length}")
        await self.send("\r\n".join([*lines, "", ""]).encode("latin-1"))

    async def say(self, status, body, fields=()):
        await self.begin(status, None if status == 204 else len(body), fields=fields)
        await self.send(body)

    async def chunk(self, data):
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    async def stall(self):
        await asyncio.sleep(3600)


def stamps(*times):
    return struct.pack(f"<{len(times)}q", *times)
