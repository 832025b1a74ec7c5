"""Echoes that come back from another address."""

import socket

from testbed import ECHO
from wire.echo_liar import EchoServer


class Lie(EchoServer):
    async def more(self):
        self.other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.other.bind(("198.18.7.7", ECHO))

    def echo(self, data, to, transport):
        if data[3] & 1:
            super().echo(data, to, transport)
        else:
            self.other.sendto(self.reply(data), to)
