"""A situation: how a labelled capture is made. Families register themselves; a seed draws the numbers of one."""

import random
from dataclasses import dataclass, field
from pathlib import Path

SERVER, CLIENT = "10.99.0.1", "10.45.0.1"
# Between a run's zero and the first traffic, for commands beside it.
FIRST_S = 0.5
FAMILIES = {}


@dataclass
class Situation:
    family: str
    seed: int
    scenario: str = ""
    # Commands on hosts during the run.
    beside: list = field(default_factory=list)
    # A function that makes the captures itself, instead of a lab's run.
    synthesis: object = None
    # Share of the one-way delay that lies between server and capture point in the middle; and the delay.
    tap_share: float = 0.5
    one_way_s: float = 0.02
    has_timestamps: bool = True
    # Addresses whose flows no capture has.
    hidden: tuple = ()
    # Kinds of delay that are there and are no queue: to be named instead of one, or beside it.
    other: tuple = ()
    # Where they arise, which says who can see them: the link's direction ("down", "up"), who holds ACKs back ("client", "server"),
    # or "answers", which the server takes its time for.
    other_at: tuple = ()
    # Of links, in bit/s by direction, where they are constant: to say whether they were busy.
    rates: dict = field(default_factory=dict)
    # Each flow has a queue of its own.
    has_own_queues: bool = False
    # A QUIC connection, with a spin bit ("spin") or without ("plain").
    quic: str = ""
    # What held the flow back where it was no queue.
    limit: str = ""
    # Words that pass besides those that the truth implies.
    also: tuple = ()
    # What is done to captures after they were taken, by name: see `disguise`.
    disguise: tuple = ()
    # What the sending host's own queue did, by direction, if a file of the run tells.
    host_queue: str = ""


def family(make):
    FAMILIES[make.__name__.removeprefix("make_")] = make
    return make


def make(name, seed):
    return FAMILIES[name](Draw(name, seed))


class Draw:
    """The numbers of one seed of a family."""

    def __init__(self, name, seed):
        self.family, self.seed = name, seed
        self._random = random.Random(f"{name}/{seed}")
        self.one = self._random.choice
        self.between = self._random.uniform

    def rtt_s(self, *among_ms):
        return self.one(among_ms or (10, 40, 150)) * self.between(0.8, 1.25) / 1000

    def rate(self, *among_mbps):
        return self.one(among_mbps or (1, 10, 20, 100)) * self.between(0.8, 1.25) * 1e6

    def situation(self, path, flows, *, duration_s, beside=(), **more):
        return Situation(
            self.family, self.seed, scenario_of(path, flows, duration_s, self.seed), list(beside),
            tap_share=self.between(0.2, 0.8), one_way_s=path["down"].get("delay_s") or 0.0,
            rates={way: rate for way in ("down", "up") if (rate := constant_rate(path[way]))}, **more,
        )


def constant_rate(link):
    """Of a link, or of the last of several."""
    link = link["hop"][-1] if "hop" in link else link
    queue = link.get("queue")
    text = link.get("rate") or (queue.get("rate") if isinstance(queue, dict) else None)
    if text is None or "radio" in link:
        return None
    number, unit = text.split()
    return float(number) * {"bit/s": 1, "Mbit/s": 1e6}[unit]


def path_of(draw, down_bps, rtt_s, *, queue="droptail", up_bps=None, up_queue=None):
    """Both directions; the queue of the uplink is deep enough not to matter unless one is given."""
    up_bps = up_bps or max(down_bps / draw.one((1, 4, 10)), 1e6)
    deep = {"kind": "droptail", "limit": "1000 packets"}
    return {
        "down": {"rate": bps(down_bps), "delay_s": rtt_s / 2, "queue": queue},
        "up": {"rate": bps(up_bps), "delay_s": rtt_s / 2, "queue": up_queue or deep},
    }


def droptail(rate_bps, wait_s, least=3000):
    return {"kind": "droptail", "limit": f"{max(int(rate_bps * wait_s / 8), least)} B"}


def bps(rate):
    return f"{int(rate)} bit/s"


def ms(seconds):
    return f"{seconds * 1000:.3f} ms"


def bulk(direction="down", name="bulk", start=FIRST_S, **keys):
    return {"name": name, "app": {"kind": "bulk", "direction": direction}, "start": ms(start), "cc": "cubic", **keys}


def scenario_of(path, flows, duration_s, seed):
    lines = ["[scenario]", f'duration = "{ms(duration_s)}"', f"seed = {seed}"]
    for direction in ("down", "up"):
        keys = dict(path[direction])
        delay = keys.pop("delay_s", None)
        if delay is not None:
            keys["delay"] = ms(delay)
        lines += [f"[link.{direction}]"] + [f"{key} = {toml(value)}" for key, value in keys.items()]
    if "rrc" in path:
        lines += ["[link.rrc]"] + [f"{key} = {toml(value)}" for key, value in path["rrc"].items()]
    for flow in flows:
        lines += ["[[flow]]"] + [f"{key} = {toml(value)}" for key, value in flow.items()]
    return "\n".join(lines) + "\n"


def toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml, value)) + "]"
    return '"' + str(value) + '"'


APPS = Path(__file__).with_name("apps.py")


def app(kind, *, port=7000, server="server", client="client", address=SERVER, **how):
    """Commands for an application of apps.py between two hosts."""
    words = " ".join(f"--{key} {value}" for key, value in how.items())
    run = f"/usr/bin/python3 {APPS}"
    return [f"{server}: {run} serve {port} {kind} {words}", f"{client}: {run} use {address} {port} {kind} {words}"]


# Hosts exist for flows of scenarios: this one has them made, and does next to nothing.
def presence(at_s, name="presence", **keys):
    return {"name": name, "app": {"kind": "finite", "size": "1 B"}, "start": ms(at_s), **keys}
