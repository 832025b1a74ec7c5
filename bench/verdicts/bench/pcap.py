"""Captures: read, written, and what is needed of their packets. IPv4 only: the benchmark makes no other."""

import struct
from dataclasses import dataclass, replace

ETHERNET, RAW_IP = 1, 101
NANOSECONDS = 0xA1B23C4D
TCP, UDP = 6, 17
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


@dataclass(slots=True)
class Packet:
    """A packet from its IP header on."""

    at_ns: int
    wire_len: int
    data: bytes

    @property
    def protocol(self):
        return self.data[9]

    @property
    def source(self):
        return address(self.data[12:16]), self._port(0)

    @property
    def destination(self):
        return address(self.data[16:20]), self._port(2)

    def _port(self, at):
        start = (self.data[0] & 15) * 4 + at
        return int.from_bytes(self.data[start : start + 2], "big") if self.protocol in (TCP, UDP) else 0

    def moved(self, by_ns):
        return replace(self, at_ns=self.at_ns + by_ns)


def address(four):
    return ".".join(map(str, four))


def packed(text):
    return bytes(map(int, text.split(".")))


def read(path):
    """Packets of a little-endian capture, Ethernet headers taken off. What is not IPv4 is left out."""
    blob = path.read_bytes()
    magic, _, _, _, _, _, link = struct.unpack_from("<IHHiIII", blob)
    tick = 1 if magic == NANOSECONDS else 1000
    at, packets = 24, []
    while at + 16 <= len(blob):
        seconds, fraction, kept, wire_len = struct.unpack_from("<IIII", blob, at)
        data = blob[at + 16 : at + 16 + kept]
        at += 16 + kept
        if link == ETHERNET:
            if data[12:14] != b"\x08\x00":
                continue
            data, wire_len = data[14:], wire_len - 14
        packets.append(Packet(seconds * 10**9 + fraction * tick, wire_len, data))
    return packets


def write(path, packets, snap_len=96, in_order=True):
    out = [struct.pack("<IHHiIII", NANOSECONDS, 2, 4, 0, 0, snap_len, RAW_IP)]
    for packet in sorted(packets, key=lambda packet: packet.at_ns) if in_order else packets:
        seconds, nanoseconds = divmod(packet.at_ns, 10**9)
        kept = packet.data[:snap_len]
        out += [struct.pack("<IIII", seconds, nanoseconds, len(kept), packet.wire_len), kept]
    path.write_bytes(b"".join(out))


def with_ends(packet, source=None, destination=None):
    """The packet with other addresses and ports; checksums are patched as a router would (RFC 1624)."""
    data = bytearray(packet.data)
    header = (data[0] & 15) * 4
    before = bytes(data[12:20]) + bytes(data[header : header + 4])
    for end, (address_at, port_at) in ((source, (12, header)), (destination, (16, header + 2))):
        if end:
            data[address_at : address_at + 4] = packed(end[0])
            data[port_at : port_at + 2] = end[1].to_bytes(2, "big")
    after = bytes(data[12:20]) + bytes(data[header : header + 4])
    data[10:12] = patched(data[10:12], before[:8], after[:8])
    checksum_at = header + {TCP: 16, UDP: 6}[packet.protocol]
    if len(data) >= checksum_at + 2:
        data[checksum_at : checksum_at + 2] = patched(data[checksum_at : checksum_at + 2], before, after)
    return replace(packet, data=bytes(data))


def patched(checksum, before, after):
    total = ~int.from_bytes(checksum, "big") & 0xFFFF
    for old, new in zip(words(before), words(after)):
        total += (~old & 0xFFFF) + new
    return (~folded(total) & 0xFFFF).to_bytes(2, "big")


def words(data):
    return struct.unpack(f">{len(data) // 2}H", data)


def folded(total):
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def checksum(data):
    return ~folded(sum(words(data + b"\0" * (len(data) & 1)))) & 0xFFFF
