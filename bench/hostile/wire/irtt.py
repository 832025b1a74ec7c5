"""irtt's packets (protocol 1): magic, flags, token, sequence; parameters as pairs of varints, zigzag."""

import asyncio
import socket
import struct

MAGIC = b"\x14\xa7\x5b"
OPEN, REPLY, CLOSE, HMAC = 1, 2, 4, 8
VERSION, DURATION, INTERVAL, LENGTH = 1, 2, 3, 4


def varint(value):
    value = value << 1 if value >= 0 else (-value << 1) - 1
    out = []
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def open_packet(*parameters, flags=OPEN):
    pairs = [(VERSION, 1), *parameters]
    # Keys are not zigzag.
    return MAGIC + bytes([flags]) + b"".join(bytes([key]) + varint(value) for key, value in pairs)


def echo_packet(token, sequence=0, more=b"", flags=0):
    return MAGIC + bytes([flags]) + token + struct.pack("<I", sequence) + more


class Speaker(asyncio.DatagramProtocol):
    """A socket that counts what went and came: an address that proved nothing must get no more than came from it."""

    def __init__(self, target):
        self.target, self.went, self.got, self.tokens = target, 0, 0, []

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, _):
        self.got += len(data)
        if data[3] & OPEN and data[3] & REPLY and not data[3] & CLOSE and len(data) >= 12:
            self.tokens.append(data[4:12])
        elif data[3] & CLOSE:
            self.target.counts.refused += 1
        if self.got > self.went:
            self.target.fault(f"{self.got} bytes to an address that sent {self.went}")

    def error_received(self, error):
        self.target.counts.closed += 1

    def send(self, data):
        self.went += len(data)
        self.target.counts.sent += len(data)
        self.transport.sendto(data)


async def speaker(target, source):
    local = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    local.bind((source, 0))
    local.connect((target.address, target.echo))
    local.setblocking(False)
    _, made = await asyncio.get_running_loop().create_datagram_endpoint(lambda: Speaker(target), sock=local)
    target.counts.made += 1
    return made
