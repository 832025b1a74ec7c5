"""A TCP connection to the server, with TLS or without."""

import asyncio
import contextlib
import socket
import ssl

PATIENCE_S = 15


class Closed(Exception):
    """The server ended the connection."""


def context(alpn=()):
    """The certificate is not what is attacked."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    if alpn:
        made.set_alpn_protocols(list(alpn))
    return made


class Link:
    def __init__(self, target, reader, writer):
        self.target, self.reader, self.writer = target, reader, writer
        self.is_closed, self.task = False, None

    async def send(self, data):
        """Blocks while the server reads nothing, for as long as the attack goes on."""
        if self.is_closed:
            raise Closed
        try:
            self.writer.write(data)
            while True:
                try:
                    await asyncio.wait_for(self.writer.drain(), 0.25)
                    break
                except asyncio.TimeoutError:
                    if not self.target.goes_on():
                        return
        except OSError:
            self.ended()
            raise Closed from None
        self.target.counts.sent += len(data)

    async def flood(self, data):
        """The same again and again, until the attack is over."""
        while self.target.goes_on():
            await self.send(data)

    async def receive(self, most=65536):
        """What comes; nothing at the end of the attack."""
        while True:
            try:
                came = await asyncio.wait_for(self.reader.read(most), 0.25)
            except asyncio.TimeoutError:
                if not self.target.goes_on():
                    return b""
                continue
            except OSError:
                came = b""
            if not came:
                self.ended()
                raise Closed
            return came

    async def status(self):
        """Of an answer over HTTP/1.1, whose header is taken."""
        header = b""
        while b"\r\n\r\n" not in header:
            came = await self.receive()
            if not came:
                raise Closed
            header += came
        self.header, self.rest = header.split(b"\r\n\r\n", 1)
        words = header.split(None, 2)
        status = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
        if status in (429, 503):
            self.target.counts.refused += 1
        return status

    def read_away(self):
        """Reads answers, so that nothing waits for us."""
        if self.task:
            return

        async def reads():
            with contextlib.suppress(Closed):
                while await self.receive():
                    pass
        self.task = asyncio.ensure_future(reads())

    async def wait_closed(self):
        """Until the server closes, or the attack is over."""
        with contextlib.suppress(Closed):
            if self.task:
                await self.task
            else:
                while await self.receive():
                    pass

    def ended(self):
        if not self.is_closed:
            self.is_closed = True
            self.target.counts.closed += 1


async def opened(target, source, tls, alpn, room):
    one = socket.socket()
    try:
        one.setblocking(False)
        if room:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        if source:
            one.bind((source, 0))
        await asyncio.get_running_loop().sock_connect(one, (target.address, target.plain if tls is False else target.tls))
        return await asyncio.open_connection(sock=one, ssl=context(alpn) if tls else None, server_hostname="bench" if tls else None)
    except BaseException:
        one.close()
        raise


@contextlib.asynccontextmanager
async def link(target, source=None, tls=True, alpn=(), room=None):
    """Opens and counts a connection; within, `Closed` ends it without more words. TLS: True, False for the port without, None for the port
    with and not a byte of it. `room`: of the kernel for what comes."""
    try:
        reader, writer = await asyncio.wait_for(opened(target, source, tls, alpn, room), PATIENCE_S)
    except (OSError, asyncio.TimeoutError):
        # OSError: of TLS, too.
        target.counts.refused += 1
        yield None
        return
    target.counts.made += 1
    this = Link(target, reader, writer)
    try:
        with contextlib.suppress(Closed):
            yield this
    finally:
        if this.task:
            this.task.cancel()
        if not this.is_closed and not target.goes_on():
            target.counts.held += 1
        writer.transport.abort()
