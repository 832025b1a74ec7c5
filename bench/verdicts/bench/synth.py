"""Packets of a path that is computed here, for what neither the lab nor the simulator has: stacks of other systems, QUIC.

The path is a delay each way, and at most one queue towards the client; the log of its packets has the lab's columns.
"""

import heapq
import random
import struct

from . import pcap
from .situation import CLIENT, SERVER

# The lab's zero on the wall clock.
ZERO_NS = 10**18
COLUMNS = "direction,protocol,source,source_port,destination,destination_port,bytes,came_ns,queued_ns,radio_ns,asleep_ns,left_ns"


class World:
    """Virtual time, a path and its log. Times in s."""

    def __init__(self, one_way_s, seed, rate_bps=None, buffer_bytes=10**9):
        self.draw = random.Random(f"world/{seed}")
        self.now = 0.0
        self._one_way, self._rate, self._buffer = one_way_s, rate_bps, buffer_bytes
        self._agenda, self._order = [], 0
        self._free_at = 0.0
        self._sides = {"server": [], "client": []}
        self._log = []

    def at(self, time, work, *arguments):
        self._order += 1
        heapq.heappush(self._agenda, (time, self._order, work, arguments))

    def run(self, until):
        while self._agenda and self._agenda[0][0] < until:
            self.now, _, work, arguments = heapq.heappop(self._agenda)
            work(*arguments)

    def carry(self, way, data, wire_len, arrived):
        """A packet enters now; `arrived` is called when it comes out, unless the buffer was full."""
        before, behind = ("server", "client") if way == "down" else ("client", "server")
        came = self.now
        self._sides[before].append(packet_at(came, data, wire_len))
        wait, sends = 0.0, 0.0
        if way == "down" and self._rate:
            wait, sends = max(0.0, self._free_at - came), wire_len * 8 / self._rate
            if wait * self._rate / 8 + wire_len > self._buffer:
                return
            self._free_at = came + wait + sends
        left = came + wait + sends + self._one_way
        self._sides[behind].append(packet_at(left, data, wire_len))
        ends = struct.unpack(">4s4sHH", data[12:24])
        source, destination = pcap.address(ends[0]), pcap.address(ends[1])
        times = [int(came * 1e9), int(wait * 1e9), 0, 0, int(left * 1e9)]
        self._log.append((left, [way, data[9], source, ends[2], destination, ends[3], wire_len, *times]))
        self.at(left, arrived)

    def write(self, folder):
        for side, packets in self._sides.items():
            for name in (side, f"path-{side}-side"):
                pcap.write(folder / f"{name}.pcap", packets, 256)
        rows = [",".join(map(str, row)) for _, row in sorted(self._log, key=lambda one: one[0])]
        (folder / "path-packets.csv").write_text("\n".join([COLUMNS, *rows]) + "\n")


def packet_at(time, data, wire_len):
    return pcap.Packet(ZERO_NS + int(time * 1e9), wire_len, data)


def ip(protocol, source, destination, transport, payload_len):
    total = 20 + len(transport) + payload_len
    header = struct.pack(">BBHHHBBH", 0x45, 0, total, 1, 0x4000, 64, protocol, 0) + pcap.packed(source) + pcap.packed(destination)
    header = header[:10] + pcap.checksum(header).to_bytes(2, "big") + header[12:]
    return header + transport, total


class TcpEnd:
    """One end of a connection without losses: what it sends, and when it acknowledges."""

    def __init__(self, world, name, way, ends, delayed_ack_s, has_timestamps):
        self.world, self.name, self.way, self.ends = world, name, way, ends
        self.delayed_ack_s, self.has_timestamps = delayed_ack_s, has_timestamps
        self.peer = None
        self.sent = world.draw.randrange(2**31)
        self.came = 0
        self.acknowledged = 0
        self.waiting = 0
        self.clock = world.draw.randrange(2**31)
        self.echo = 0
        self.on_data = lambda size: None

    def emit(self, flags, size=0):
        options = b""
        if flags & pcap.SYN:
            options += struct.pack(">BBH", 2, 4, 1460)
        if self.has_timestamps:
            value = (self.clock + int(self.world.now * 1000)) % 2**32
            options += struct.pack(">BBBBII", 1, 1, 8, 10, value, self.echo)
        else:
            value = 0
        (source, source_port), (destination, destination_port) = self.ends
        head = struct.pack(
            ">HHIIBBHHH", source_port, destination_port, self.sent % 2**32, self.came % 2**32,
            (20 + len(options)) // 4 << 4, flags, 65_000, 0, 0,
        )
        data, wire_len = ip(pcap.TCP, source, destination, head + options, size)
        begin, space = self.sent, size + bool(flags & (pcap.SYN | pcap.FIN))
        self.sent += space
        if flags & pcap.ACK:
            self.acknowledged, self.waiting = self.came, 0
        self.world.carry(self.way, data, wire_len, lambda: self.peer.arrive(begin, size, space, flags, value))

    def arrive(self, begin, size, space, flags, value):
        if flags & pcap.SYN:
            self.came = self.acknowledged = begin
        if begin <= self.acknowledged:
            self.echo = value  # RFC 7323, 4.3
        self.came = begin + space
        if flags == pcap.SYN:
            self.emit(pcap.SYN | pcap.ACK)
        elif flags & pcap.SYN:
            self.emit(pcap.ACK)
        elif size:
            self.waiting += 1
            if self.waiting >= 2:
                self.emit(pcap.ACK)
            else:
                due = self.came
                self.world.at(self.world.now + self.delayed_ack_s, lambda: self.acknowledge(due))
            self.on_data(size)

    def acknowledge(self, due):
        if self.waiting and self.came == due:
            self.emit(pcap.ACK)

    def say(self, size):
        self.emit(pcap.ACK | pcap.PSH, size)


def connection(world, *, client_delays_s=0.04, server_delays_s=0.04, has_timestamps=True, port=443):
    """A client's end and a server's, past their handshake soon."""
    ends = ((CLIENT, world.draw.randrange(30_000, 60_000)), (SERVER, port))
    client = TcpEnd(world, "client", "up", ends, client_delays_s, has_timestamps)
    server = TcpEnd(world, "server", "down", ends[::-1], server_delays_s, has_timestamps)
    client.peer, server.peer = server, client
    world.at(0.2, lambda: client.emit(pcap.SYN))
    return client, server


class Repeated:
    """Something said again and again, until the end."""

    def __init__(self, world, end, size, pause_s):
        self.world, self.end, self.size, self.pause_s = world, end, size, pause_s
        world.at(1.0, self.turn)

    def turn(self):
        self.end.say(self.size)
        self.world.at(self.world.now + self.world.draw.uniform(*self.pause_s), self.turn)


def answers(world, end, size, think_s):
    end.on_data = lambda _: world.at(world.now + world.draw.uniform(*think_s), lambda: end.say(size))
