"""irtt."""

import asyncio
import random

from attacks import attack
from wire.irtt import DURATION, INTERVAL, LENGTH, MAGIC, OPEN, echo_packet, open_packet, speaker

# As long as the answer, which is granted then.
PADDED = open_packet() + bytes([127, 0]) * 20


def need_tokens(target, sockets):
    """Whether there is a session at all."""
    has = any(one.tokens for one in sockets)
    if not has:
        target.counts.errors.append("no open was answered")
    return has


@attack()
async def irtt_opens(target):
    """Opens of irtt from 2,000 ports of 20 addresses, each of which must get no more than it sent."""
    sockets = [await speaker(target, target.source(number % 20, network=60)) for number in range(2000)]
    while target.goes_on():
        for at, one in enumerate(sockets):
            one.send(PADDED if at % 2 else open_packet())
            if at % 50 == 0:
                await asyncio.sleep(0.001)
    need_tokens(target, sockets)


@attack(waits=True)
async def irtt_sessions(target):
    """All 1,000 places of the echo, taken by 40 addresses of one /24 that echo once a second."""
    sockets = [await speaker(target, target.source(number % 40, network=61)) for number in range(1200)]
    rounds = 0
    while target.goes_on():
        for at, one in enumerate(sockets):
            token = one.tokens[-1] if one.tokens else None
            one.send(echo_packet(token, more=bytes(60)) if token else PADDED)
            if at % 50 == 0:
                await asyncio.sleep(0.002)
        rounds += 1
        if rounds == 4:
            target.in_place()
        await target.pause(0.5)
    need_tokens(target, sockets)


async def session(target, network):
    """A socket with a token, or none."""
    own = await speaker(target, target.source(0, network=network))
    for _ in range(20):
        own.send(PADDED)
        await asyncio.sleep(0.05)
    return own if need_tokens(target, [own]) else None


@attack()
async def irtt_replay(target):
    """Another's packets of irtt, sent again from 200 other ports and addresses, which must get no more than they sent."""
    own = await session(target, 62)
    if own is None:
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


@attack()
async def irtt_parameters(target):
    """Parameters of irtt out of any range, cut and endless numbers, flags that are none."""
    odd = [0, -1, 1, 2 ** 31, 2 ** 62, -2 ** 62, 65536, 1473]
    dice = random.Random(7)
    sockets = [await speaker(target, target.source(number, network=64)) for number in range(50)]
    while target.goes_on():
        for one in sockets:
            parameters = [(key, dice.choice(odd)) for key in (DURATION, INTERVAL, LENGTH, 5, 6, 7, 8)]
            one.send(open_packet(*parameters))
            one.send(MAGIC + bytes([OPEN]) + b"\x01" + b"\xff" * dice.randrange(1, 40))
            one.send(MAGIC + bytes([dice.randrange(256)]) + dice.randbytes(dice.randrange(1400)))
            one.send(dice.randbytes(dice.randrange(1, 1400)))
        await asyncio.sleep(0.02)


@attack()
async def irtt_flood(target):
    """Echoes of one session as fast as they can be sent: the server answers 100 a second."""
    own = await session(target, 65)
    if own is None:
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
