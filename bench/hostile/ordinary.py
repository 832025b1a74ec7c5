"""What an ordinary client sees: `unbloat test` over the wire, short."""

import json
import statistics
import subprocess
from dataclasses import dataclass

from testbed import NEAR, TLS

# A run that distrusts itself still says what it saw.
COMPLETE, UNTRUSTED = 0, 5
PATIENCE_S = 60
SLOW = "ordinary test slow: "
STAGES = "1s,2s,2s,0s"
# Beside an attack: at least this share of the undisturbed rate, and no more delay than it and this.
LEAST_RATE, MORE_MS = 0.5, 25.0


@dataclass
class Seen:
    failure: str = ""
    down: float = 0.0
    up: float = 0.0
    # Half of all datagrams within the loads waited no longer, there or back.
    added: float = 0.0

    def text(self):
        return f"{self.down:.0f}/{self.up:.0f} Mbit/s, {self.added:.1f} ms"


def test(unbloat, wire, server):
    command = [unbloat, "test", f"https://{NEAR}:{TLS}", "--pin", server.pin, "--stages", STAGES, "--json", "-q"]
    try:
        done = subprocess.run(wire.within(command), capture_output=True, text=True, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        return Seen(f"not over after {PATIENCE_S} s")
    if done.returncode not in (COMPLETE, UNTRUSTED):
        return Seen(f"exit {done.returncode}: {done.stderr.strip()[-150:]}")
    said = json.loads(done.stdout)
    ways = {load["load"]: load[load["load"]] for load in said["loads"] if load["load"] in ("down", "up")}
    rate = lambda way: (ways.get(way, {}).get("goodput_bps") or 0) / 1e6
    added = [ways[way]["added"]["p50"]["ms"] for way in ways if ways[way].get("added")]
    if len(added) < 2:
        return Seen("no datagrams came back in a stage", rate("down"), rate("up"))
    return Seen("", rate("down"), rate("up"), max(added))


def undisturbed(unbloat, wire, server, times=3):
    """In the median."""
    every = [test(unbloat, wire, server) for _ in range(times)]
    if failed := [seen.failure for seen in every if seen.failure]:
        raise SystemExit(f"an undisturbed test fails: {failed[0]}")
    return Seen("", *(statistics.median(getattr(seen, name) for seen in every) for name in ("down", "up", "added")))


def faults(seen, usual, shares):
    """What is not within bounds."""
    if seen.failure:
        return [f"ordinary test: {seen.failure}"]
    found = []
    if not shares and (seen.down < LEAST_RATE * usual.down or seen.up < LEAST_RATE * usual.up):
        found.append(f"{SLOW}{seen.down:.1f}/{seen.up:.1f} Mbit/s")
    if seen.added > usual.added + MORE_MS and not shares:
        found.append(f"{SLOW}{seen.added:.0f} ms added")
    return found
