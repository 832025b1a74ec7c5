"""An echo that agrees, and echoes nothing."""

from wire.echo_liar import EchoServer


class Lie(EchoServer):
    def echo(self, data, to, transport):
        if data[3] & 1:
            super().echo(data, to, transport)
