"""4,096 connections of four addresses that say nothing, opened again when closed."""

from wire.silence import silence


async def attack(target):
    await silence(target, [target.source(0, network=10 + number % 4) for number in range(4096)])
