"""4,096 silent connections of the 250 addresses of one /24."""

from wire.silence import silence


async def attack(target):
    await silence(target, [target.source(number % 250, network=20) for number in range(4096)])
