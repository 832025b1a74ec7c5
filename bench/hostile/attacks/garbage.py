"""Random bytes, to every port, over TCP, over TLS and as datagrams."""

import asyncio
import random

from wire.http2 import http2
from wire.irtt import Speaker
from wire.link import link


async def attack(target):
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


class Silent(Speaker):
    def datagram_received(self, data, _):
        self.got += len(data)
        if self.got > self.went:
            self.target.fault(f"{self.got} bytes to an address that sent {self.went}")
