"""First packets of QUIC from 2,000 ports, whose Retry nobody follows, and none of which may be answered by more than came."""

import asyncio
import ssl

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

from wire.irtt import Speaker


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


async def attack(target):
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
