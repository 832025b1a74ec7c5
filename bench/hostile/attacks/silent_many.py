"""10,000 silent connections of 40 addresses, each of another /24."""

from wire.silence import silence


async def attack(target):
    await silence(target, [target.source(0, network=30 + number % 40) for number in range(10_000)])
