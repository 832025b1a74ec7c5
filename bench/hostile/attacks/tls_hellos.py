"""Handshakes that the client leaves after the server has computed its part, again and again."""

import ssl

from wire.link import context, link


def hello():
    """A ClientHello; each may be sent by many connections."""
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context(["h2"]).wrap_bio(into, out, server_hostname="bench")
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        return out.read()


async def attack(target):
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
