"""What happens to captures on their way to an analyst: tunnels, mirror ports, clocks that step, drops, cuts."""

import random
import struct
from dataclasses import replace

from . import pcap

OUTER = ("192.0.2.1", "192.0.2.2")
STEP_NS = 300_000_000


def tunnel(packet, outer_ports, head):
    """The packet within IPv4: GRE where there are no ports, else UDP."""
    inner_len = packet.wire_len + len(head)
    if outer_ports is None:
        protocol, transport = 47, head
        total = 20 + inner_len
    else:
        protocol = pcap.UDP
        transport = struct.pack(">HHHH", *outer_ports, 8 + inner_len, 0) + head
        total = 28 + inner_len
    ends = OUTER if packet.data[12:14] == b"\x0a\x63" else OUTER[::-1]
    header = struct.pack(">BBHHHBBH", 0x45, 0, total, 0, 0x4000, 64, protocol, 0) + pcap.packed(ends[0]) + pcap.packed(ends[1])
    header = header[:10] + pcap.checksum(header).to_bytes(2, "big") + header[12:]
    return replace(packet, wire_len=total, data=header + transport + packet.data)


def gre(packets, _):
    return [tunnel(one, None, b"\x00\x00\x08\x00") for one in packets]


def vxlan(packets, _):
    ethernet = b"\x02\0\0\0\0\1\x02\0\0\0\0\2\x08\x00"
    return [tunnel(one, (51000, 4789), b"\x08\0\0\0\0\0\x07\0" + ethernet) for one in packets]


def gtpu(packets, _):
    return [tunnel(one, (2152, 2152), struct.pack(">BBHI", 0x30, 255, one.wire_len, 77)) for one in packets]


def twice(packets, draw):
    """A mirror port that copies a packet as it comes and as it goes."""
    return [copy for one in packets for copy in (one, one.moved(draw.randint(2_000, 30_000)))]


def drops(packets, draw):
    return [one for one in packets if draw.random() > 0.05]


def span_of(packets):
    times = [one.at_ns for one in packets]
    return min(times), max(times)


def clock(packets, draw):
    packets = sorted(packets, key=lambda one: one.at_ns)
    begin, end = span_of(packets)
    at = begin + int((end - begin) * draw.uniform(0.3, 0.7))
    by = draw.choice((-STEP_NS, STEP_NS))
    # A clock that is set back shows later packets before earlier ones: files keep the order of arrival.
    return [one.moved(by) if one.at_ns >= at else one for one in packets]


def cut(packets, draw):
    """The capture begins while a download runs, and ends while it does."""
    begin, end = cut_span(span_of(packets))
    return [one for one in packets if begin <= one.at_ns < end]


def cut_span(span):
    begin, end = span
    return begin + int((end - begin) * 0.45), begin + int((end - begin) * 0.9)


ALL = {one.__name__: one for one in (gre, vxlan, gtpu, twice, drops, clock, cut)}
TUNNELS = {"gre": 24, "vxlan": 50, "gtpu": 36}


def apply(names, packets, seed):
    for name in names:
        packets = ALL[name](packets, random.Random(f"{name}/{seed}"))
    return packets
