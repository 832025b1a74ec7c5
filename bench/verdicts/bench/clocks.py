"""Clocks of the hosts in a capture, drawn anew: the hosts of the lab are kernels of one kind, whose timestamps tick once a millisecond and exactly.

The packets and when they passed stay as they are. Each host gets a clock of its own, and each connection an offset; TSval and TSecr are rewritten
by them, so what echoes what stays the same as far as the new ticks can tell.
"""

import random
import struct
from dataclasses import replace

from . import pcap

RATES_HZ = (1, 2, 10, 64, 100, 128, 200, 250, 256, 300, 512, 1000, 1024, 1_000_000)
# How far clocks of a kind are off at most: crystals, phones and virtual machines, clocks that nobody set right.
ERRORS = (50e-6, 0.01, 0.05)
STEPS_S = (0.05, 0.35, 2.0, 60.0, 3600.0)
SLEW = 500e-6  # What NTP adds or takes at most (RFC 5905).
# Options as Linux lays them out: of a SYN after the segment size, of others first.
LAYOUTS = ((b"\x04\x02\x08\x0a", 24), (b"\x01\x01\x08\x0a", 20))


class Clock:
    """Ticks of a host since the capture began."""

    def __init__(self, draw):
        self.hz = draw.choice(RATES_HZ)
        self.error = draw.uniform(-1, 1) * draw.choice(ERRORS)
        # Slewed from one time to another; set, asleep or moved to another machine at one.
        self.slewed = sorted((draw.uniform(0, 20), draw.uniform(0, 20))) if draw.random() < 0.3 else (0, 0)
        self.step = (draw.uniform(2, 12), draw.choice(STEPS_S) * draw.choice((-1, 1))) if draw.random() < 0.25 else (0, 0)

    def ticks(self, at_s):
        begin, end = self.slewed
        at_step, by = self.step
        slewed = SLEW * min(max(at_s - begin, 0), end - begin)
        return int(self.hz * (at_s * (1 + self.error) + slewed + (by if at_s >= at_step else 0)))


def clock_of(seed, host):
    return Clock(random.Random(f"{seed}/{host.hex()}"))


class Hosts:
    def __init__(self, seed):
        self._seed, self._clocks, self._begun = seed, {}, {}

    def stamp(self, host, flow, value, at_s):
        """What the host's new clock says where the old one said `value`; `at_s` is when that was first seen."""
        clock = self._clocks.setdefault(host, clock_of(self._seed, host))
        first, begun_s = self._begun.setdefault((host, flow), (value, at_s))
        passed_s = ((value - first + 2**31) % 2**32 - 2**31) / 1000
        offset = random.Random(f"{self._seed}/{host.hex()}/{flow}").getrandbits(32)
        return (clock.ticks(begun_s + passed_s) + offset) % 2**32


def redrawn(packets, seed):
    hosts = Hosts(seed)
    begun = min((one.at_ns for one in packets), default=0)
    return [redraw(one, hosts, (one.at_ns - begun) / 1e9) for one in packets]


def redraw(packet, hosts, at_s):
    found = [(at, at - header) for option, header in LAYOUTS if (at := packet.data.find(option)) >= header + 20]
    if not found or len(packet.data) < found[0][0] + 12:
        return packet
    at, tcp = min(found)
    source, destination = packet.data[tcp - 8 : tcp - 4], packet.data[tcp - 4 : tcp]
    ports = packet.data[tcp : tcp + 2], packet.data[tcp + 2 : tcp + 4]
    flow = tuple(sorted(zip((source, destination), ports)))
    value, echo = struct.unpack_from(">II", packet.data, at + 4)
    value = hosts.stamp(source, flow, value, at_s)
    echo = hosts.stamp(destination, flow, echo, at_s) if echo else 0
    return replace(packet, data=packet.data[: at + 4] + struct.pack(">II", value, echo) + packet.data[at + 12 :])


def file_of(path, seed):
    """The capture with other clocks, beside it; made if it is not there."""
    other = path.with_name(f"{path.stem}-clocks.pcap")
    if not other.exists():
        made = other.with_suffix(".tmp")
        pcap.write(made, redrawn(pcap.read(path), seed), snap_len=2**16, in_order=False)
        made.rename(other)
    return other
