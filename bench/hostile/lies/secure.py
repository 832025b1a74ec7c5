"""Over TLS, and where TLS is due."""

import asyncio
import os

from lies import ANY, ERROR, part, variant
from wire import certificate
from wire.elsewhere import Elsewhere
from wire.liar import ESCAPES, Server


def by_authority(server):
    """Its certificate is of an authority that the client trusts, not pinned."""
    return ["--ca", str(server.certificate.chain)]


# One handshake, which is not believed.
HANDSHAKE = 4096
variant("endpoint_insecure", "`test_endpoint` names a third party, with TLS that is not checked.", Elsewhere,
        scheme="https", is_believed=True, trust=lambda _: ["--insecure"])
variant("endpoint_ca", "`test_endpoint` names a third party, with TLS that the third party does not speak.", Elsewhere,
        scheme="https", spared=HANDSHAKE, trust=by_authority)
variant("endpoint_pin", "`test_endpoint` names a third party, with a pinned certificate that it does not have.", Elsewhere,
        scheme="https", spared=HANDSHAKE)


def certified(name, about, parts, **made):
    """With a certificate that is made so."""
    variant(name, about, scheme="https", make_certificate=lambda server: certificate.make(server.folder, **made), **parts)


certified("certificate_expired", "A certificate of the right name whose time is over.", {"may": ERROR, "trust": by_authority}, days=(-30, -1))
certified("certificate_other_name", "A certificate of a trusted authority for another name.", {"may": ERROR, "trust": by_authority},
          addresses=(), names=("bank.example",))
certified("certificate_long", "A chain of 100 certificates, pinned.", {"may": ANY}, more=99)
certified("certificate_giant", "A certificate with an extension of 10 MB.", {"may": ERROR}, extension=10_000_000)
certified("escapes_certificate", "A certificate for names that are escape sequences.", {"may": ERROR, "trust": by_authority},
          addresses=("198.51.100.1",), names=("evil\x1b[31m.example",), title=ESCAPES[:40])


class Raw(Server):
    """Something else where TLS is due."""

    may = ERROR

    def command(self):
        return [f"https://{self.host}:{self.port}", "--insecure", *self.client]


@part("connection", Raw)
async def tls_plain(_, reader, writer):
    """HTTP without TLS where TLS was asked for."""
    await reader.read(100)
    writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
    await writer.drain()


@part("connection", Raw)
async def tls_garbage(_, reader, writer):
    """Random bytes where TLS is due, without end."""
    while True:
        writer.write(os.urandom(65536))
        await writer.drain()


@part("connection", Raw)
async def tls_endless(_, reader, writer):
    """A handshake of TLS whose first message claims 16 MB and comes in small records."""
    record = b"\x16\x03\x03\x40\x00"
    await reader.read(100)
    writer.write(record + b"\x02\xff\xff\xff" + bytes(16380))
    while True:
        writer.write(record + bytes(16384))
        await writer.drain()
        await asyncio.sleep(0)


@part("connection", Raw)
async def stall_tls(*_):
    """A port that takes connections and says nothing, where TLS is due."""
    await asyncio.sleep(3600)
