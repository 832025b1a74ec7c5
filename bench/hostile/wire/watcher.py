"""Hears all that goes to anybody but the server that was named."""

import socket
import struct
import threading
from collections import Counter

from testbed import SERVER

ALL_PROTOCOLS, IPV4, IPV6, OUTGOING = 3, 0x0800, 0x86DD, 4

ICMP, UNREACHABLE = 1, b"\x03"


class Watcher(threading.Thread):
    """Bytes by whom they went to, from the loopback device of this namespace."""

    def __init__(self, allowed=(SERVER,)):
        super().__init__(daemon=True)
        self.allowed, self.heard, self.ends = set(allowed), Counter(), threading.Event()
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ALL_PROTOCOLS))
        self.socket.bind(("lo", ALL_PROTOCOLS))
        self.socket.settimeout(0.1)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)

    def run(self):
        while not self.ends.is_set():
            try:
                # The head is enough; the length is that of the whole packet.
                packet, about = self.socket.recvfrom(64)
            except TimeoutError:
                continue
            _, protocol, kind, *_ = about
            if kind == OUTGOING:
                continue
            if protocol == IPV4:
                to, length = socket.inet_ntop(socket.AF_INET, packet[16:20]), struct.unpack(">H", packet[2:4])[0]
            elif protocol == IPV6:
                to, length = socket.inet_ntop(socket.AF_INET6, packet[24:40]), 40 + struct.unpack(">H", packet[4:6])[0]
            else:
                continue
            # The kernel's own word to whom nobody here listens.
            is_refusal = protocol == IPV4 and packet[9] == ICMP and packet[20:21] == UNREACHABLE
            if to not in self.allowed and not is_refusal:
                self.heard[to] += length

    def close(self):
        """Bytes by address."""
        self.ends.set()
        self.join()
        self.socket.close()
        return dict(sorted(self.heard.items()))
