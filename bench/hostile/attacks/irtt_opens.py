"""Opens of irtt from 2,000 ports of 20 addresses, each of which must get no more than it sent."""

import asyncio

from wire.irtt import open_packet, speaker


async def attack(target):
    sockets = [await speaker(target, target.source(number % 20, network=60)) for number in range(2000)]
    packet = open_packet() + bytes([127, 0]) * 20
    while target.goes_on():
        for at, one in enumerate(sockets):
            one.send(packet if at % 2 else open_packet())
            if at % 50 == 0:
                await asyncio.sleep(0.001)
    if not any(one.tokens for one in sockets):
        target.counts.errors.append("no open was answered")
