"""The server as an attack sees it, and what the attack counts."""

import asyncio
import time
from dataclasses import dataclass, field

from testbed import ECHO, PLAIN, SERVER, TLS


@dataclass
class Counts:
    # Connections that were there; turned away before that or by 429 or 503; ended by the server.
    made: int = 0
    refused: int = 0
    closed: int = 0
    # Still there when the attack ended, and how many connections it holds at a time, each taking the place of one that was closed.
    held: int = 0
    lanes: int = 0
    # Bytes of an attack that went out.
    sent: int = 0
    # What the server should not have done; what kept the bench from attacking.
    faults: list = field(default_factory=list)
    errors: list = field(default_factory=list)


class Target:
    address, tls, plain, echo = SERVER, TLS, PLAIN, ECHO

    def __init__(self, seconds, stops, in_place):
        self.ends, self.stops, self.is_in_place = time.monotonic() + seconds, stops, in_place
        self.counts = Counts()

    def in_place(self):
        """All that the attack is to hold is held, as far as it may be."""
        self.is_in_place.set()

    def goes_on(self):
        """For so long as was asked, and until the ordinary test beside it has ended."""
        return time.monotonic() < self.ends or not self.stops.is_set()

    def source(self, number=0, network=0):
        """An address of a stranger: 250 to a /24."""
        network += number // 250
        return f"198.{18 + network // 250}.{network % 250 + 1}.{number % 250 + 1}"

    def fault(self, text):
        if text not in self.counts.faults:
            self.counts.faults.append(text)

    async def pause(self, seconds):
        """Until then, or until the attack is over."""
        until = time.monotonic() + seconds
        while self.goes_on() and time.monotonic() < until:
            await asyncio.sleep(min(0.1, max(0.0, until - time.monotonic())))

    async def over(self):
        while self.goes_on():
            await asyncio.sleep(0.1)

    async def lanes(self, many, lane):
        """So many at a time, each again and again: `lane(number)` returns when its connection has ended."""
        self.counts.lanes += many
        await asyncio.gather(*[self._lane(number, lane) for number in range(many)])

    async def _lane(self, number, lane):
        while self.goes_on():
            await lane(number)
            await asyncio.sleep(0.05)

    async def once(self, many, each):
        """So many, and none in place of those that are closed."""
        await asyncio.gather(*[each(number) for number in range(many)])
