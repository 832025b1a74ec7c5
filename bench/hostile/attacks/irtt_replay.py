"""Another's packets of irtt, sent again from 200 other ports and addresses, which must get no more than they sent."""

import asyncio

from wire.irtt import echo_packet, open_packet, speaker


async def attack(target):
    own = await speaker(target, target.source(0, network=62))
    for _ in range(20):
        own.send(open_packet() + bytes([127, 0]) * 20)
        await asyncio.sleep(0.05)
    if not own.tokens:
        target.counts.errors.append("no open was answered")
        return
    echo = echo_packet(own.tokens[-1], more=bytes(100))
    own.send(echo)
    others = [await speaker(target, target.source(number, network=63)) for number in range(200)]
    while target.goes_on():
        for one in others:
            one.send(echo)
        await asyncio.sleep(0.02)
    if any(one.got for one in others):
        target.fault("a token was taken from another address")
