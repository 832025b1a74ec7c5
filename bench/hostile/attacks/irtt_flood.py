"""Echoes of one session as fast as they can be sent: the server answers 100 a second."""

import asyncio

from wire.irtt import echo_packet, open_packet, speaker


async def attack(target):
    own = await speaker(target, target.source(0, network=65))
    for _ in range(20):
        own.send(open_packet() + bytes([127, 0]) * 20)
        await asyncio.sleep(0.05)
    if not own.tokens:
        target.counts.errors.append("no open was answered")
        return
    sequence, begun, before = 0, asyncio.get_running_loop().time(), own.got
    while target.goes_on():
        for _ in range(20):
            own.send(echo_packet(own.tokens[-1], sequence, bytes(100)))
            sequence += 1
        await asyncio.sleep(0.002)
    took = asyncio.get_running_loop().time() - begun
    if (own.got - before) / 116 > 110 * took + 20:
        target.fault(f"{(own.got - before) / 116 / took:.0f} echoes a second")
