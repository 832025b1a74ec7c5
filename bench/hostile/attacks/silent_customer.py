"""4,096 silent connections of 256 networks of /64, all of one customer's /56."""

from wire.silence import silence


async def attack(target):
    sources = [f"2001:db8:7:{number % 256:x}::1" for number in range(4096)]
    await silence(target, sources, address="2001:db8::1")
