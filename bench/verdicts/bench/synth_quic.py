"""A QUIC download over a drop-tail queue, with or without a spin bit (RFC 9000, 17.4)."""

import struct

from . import pcap
from .situation import CLIENT, SERVER
from .synth import ip

PAYLOAD = 1200
SHORT, SPIN = 0x40, 0x20


class Download:
    """A window of packets that grows by one a round trip and is halved on loss, acknowledged two by two."""

    def __init__(self, world, spins, begin_s):
        self.world, self.spins = world, spins
        self.port = world.draw.randrange(30_000, 60_000)
        self.window, self.in_flight, self.next = 10.0, 0, 0
        self.threshold = 10**9
        self.due, self.recovery_until = 0, -1
        self.got, self.since_ack = set(), 0
        self.client_spin, self.server_spin = 0, 0
        self.newest = [-1, -1]
        self.acked_until = 0
        world.at(begin_s, self.hello)

    def hello(self):
        first = bytes([0xC3]) + struct.pack(">IBB", 1, 8, 0)[:5] + self.world.draw.randbytes(8) + bytes([0, 0])
        self.send("up", first, PAYLOAD, lambda: self.send("down", first, PAYLOAD, lambda: self.send("up", first, PAYLOAD, self.fill)))

    def send(self, way, head, size, arrived):
        ends = ((CLIENT, self.port), (SERVER, 443))
        (source, source_port), (destination, destination_port) = ends if way == "up" else ends[::-1]
        udp = struct.pack(">HHHH", source_port, destination_port, 8 + size, 0) + head
        data, wire_len = ip(pcap.UDP, source, destination, udp, size - len(head))
        self.world.carry(way, data, wire_len, arrived)

    def head(self, spin):
        spin = spin if self.spins else 0
        return bytes([SHORT | (SPIN if spin else 0)]) + self.world.draw.randbytes(20)

    def fill(self):
        while self.in_flight < int(self.window):
            number, spin = self.next, self.server_spin
            self.next += 1
            self.in_flight += 1
            self.send("down", self.head(spin), PAYLOAD, lambda n=number, s=spin: self.received(n, s))

    def received(self, number, spin):
        if number > self.newest[0]:
            # The client inverts, the server repeats.
            self.newest[0], self.client_spin = number, 1 - spin
        self.got.add(number)
        self.since_ack += 1
        if self.since_ack >= 2:
            self.since_ack = 0
            largest, spin_up = self.newest[0], self.client_spin
            self.send("up", self.head(spin_up), 40, lambda: self.acked(largest, spin_up))

    def acked(self, largest, spin):
        if largest <= self.newest[1]:
            return
        self.newest[1], self.server_spin = largest, spin
        lost = [n for n in range(self.acked_until, largest + 1) if n not in self.got]
        count = largest + 1 - self.acked_until
        self.acked_until = largest + 1
        self.in_flight -= count
        if lost and largest > self.recovery_until:
            self.threshold = self.window = max(self.window * 0.7, 4.0)
            self.recovery_until = self.next
        elif not lost:
            self.window += count if self.window < self.threshold else count / self.window
        self.fill()
