"""A server whose loads are to go over QUIC: the description comes over TCP, as always."""

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration

from testbed import SERVER
from wire.liar import Server


class Quic(QuicConnectionProtocol):
    """Says nothing beyond the handshake."""

    # Of the server that it belongs to; one runs at a time.
    server = None

    def datagram_received(self, data, address):
        self.server.over_quic += 1
        super().datagram_received(data, address)


class QuicServer(Server):
    scheme = "https"
    client = ("--http", "3")
    speaker = Quic
    over_quic = 0

    async def more(self):
        configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"])
        configuration.load_cert_chain(self.certificate.chain, self.certificate.key)
        self.speaker.server = self
        await serve(SERVER, self.port, configuration=configuration, create_protocol=self.speaker)
