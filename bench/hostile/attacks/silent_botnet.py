"""10,000 silent connections of as many addresses, in 40 networks of /24."""

from wire.silence import silence


async def attack(target):
    await silence(target, [target.source(number, network=80) for number in range(10_000)])
