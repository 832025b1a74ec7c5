"""All 1,000 places of the echo, taken by 40 addresses of one /24 that echo once a second."""

import asyncio

from wire.irtt import echo_packet, open_packet, speaker


async def attack(target):
    sockets = [await speaker(target, target.source(number % 40, network=61)) for number in range(1200)]
    rounds = 0
    while target.goes_on():
        for at, one in enumerate(sockets):
            token = one.tokens[-1] if one.tokens else None
            one.send(echo_packet(token, more=bytes(60)) if token else open_packet() + bytes([127, 0]) * 20)
            if at % 50 == 0:
                await asyncio.sleep(0.002)
        rounds += 1
        if rounds == 4:
            target.in_place()
        await target.pause(0.5)
    if not any(one.tokens for one in sockets):
        target.counts.errors.append("no open was answered")
