"""Attacks on `unbloat serve`: a function each, whose first words say what it does."""

from dataclasses import dataclass
from typing import Callable

# Where a server that is asked for them has its metrics.
METRICS = 9464


@dataclass(frozen=True)
class Attack:
    # Runs until the target's `goes_on()` is false.
    run: Callable
    # Longer than asked, where the server's patience is.
    seconds: float = 0
    # What memory may grow by. An ordinary test takes 15.
    mib: int = 64
    # Every connection is to be closed by the server in that time.
    closes: bool = False
    # It says when it is in place; the ordinary test begins then.
    waits: bool = False
    # It sends nothing at all.
    is_silent: bool = False
    # Of the server.
    options: tuple = ()
    # The ordinary test has a share of a rate alone.
    shares: bool = False

    @property
    def name(self):
        return self.run.__name__

    def about(self):
        return self.run.__doc__.strip().split("\n\n")[0].replace("\n    ", " ").rstrip(".")


ATTACKS = []


def attack(**expected):
    """Of a function of the target."""
    def add(run):
        ATTACKS.append(Attack(run, **expected))
        return run
    return add


def lanes(many, opened, anew=True, sources=None, opening={}, **expected):
    """Of a function of the target, a connection and its number. `many` connections at a time, from as many addresses or `sources`; a connection that
    ends has another take its place, if it is opened `anew`."""
    def add(each):
        async def run(target):
            async def lane(number):
                async with opened(target, target.source(number % (sources or many)), **opening) as it:
                    if it:
                        await each(target, it, number)

            await (target.lanes if anew else target.once)(many, lane)
        run.__name__, run.__doc__ = each.__name__, each.__doc__
        return attack(**expected)(run)
    return add


from attacks import http1, http2, http3, websocket, places, everything, irtt  # noqa: E402, F401
