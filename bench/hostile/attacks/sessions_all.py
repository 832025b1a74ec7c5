"""All 1,000 sessions, taken by 40 addresses of one /24."""

from wire.http1 import ask


async def attack(target):
    taken, gone = 0, 0
    for number in range(1200):
        status, _ = await ask(target, "POST", "/unbloat/v1/session", source=target.source(number % 40, network=40))
        taken += status == 201
        gone += status in (429, 503)
        if not target.goes_on() or gone > 60:
            break
    if taken == 0:
        target.counts.errors.append("no session was opened")
    target.in_place()
    await target.over()
