"""Congestion controls that this kernel allows to nobody but root, and names that would load a module."""

from pathlib import Path

from wire.http1 import ask

KERNEL = Path("/proc/sys/net/ipv4")


async def attack(target):
    read = lambda which: (KERNEL / f"tcp_{which}_congestion_control").read_text().split()
    allowed, available = read("allowed"), read("available")
    forbidden = [name for name in available if name not in allowed]
    if not forbidden:
        target.counts.errors.append("this kernel allows all that it has: nothing to forbid")
    for name in allowed:
        status, _ = await ask(target, "GET", f"/large?bytes=1&congestion_control={name}")
        if status != 200:
            target.fault(f"{name}, which is allowed: {status}")
    while target.goes_on():
        for name in [*forbidden, "dctcp", "nonesuch", "x" * 15]:
            status, _ = await ask(target, "GET", f"/large?bytes=1&congestion_control={name}")
            if status != 400:
                target.fault(f"{name}, which is not allowed: {status}")
        await target.pause(0.5)
