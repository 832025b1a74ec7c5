"""Runs of the page that would take seconds to judge: 6,000 stages over 30,000 messages, on as many lanes as fit."""

import json

from wire.http1 import ask, request
from wire.link import link

STAGES = [{"name": "down", "start_ms": 0, "end_ms": 1000}] * 6000
WATCHED = {"hidden_ms": 0, "late_p95_ms": 1, "failures": [], "lanes": 8, "lanes_lost": 0, "interval_ms": 20, "network_changed": False,
           "connections": 16, "congestion_control": None, "limit_bps": None}


def run(stages, samples):
    readings = {"unanswered": [], "down": [], "up": []}
    return json.dumps({"stages": stages, "samples": samples, **readings, "watched": WATCHED}, separators=(",", ":")).encode()


# Within 512 KiB.
STAGED = run(STAGES[:2000], [[n % 8, n % 1000, 1] for n in range(30_000)])
LANED = run(STAGES[:1], [[n, n % 1000, 1] for n in range(31_000)])


async def attack(target):
    async def lane(number):
        source = target.source(number)
        _, opened = await ask(target, "POST", "/unbloat/v1/session", source=source)
        session = json.loads(opened.split(b"\r\n\r\n", 1)[1])["session"]
        path = f"/unbloat/v1/verdict?session={session}"
        while target.goes_on():
            async with link(target, source) as it:
                if it:
                    body = (STAGED, LANED)[number % 2]
                    await it.send(request("POST", path, [("content-length", len(body))]) + body)
                    await it.status()

    await target.lanes(8, lane)
