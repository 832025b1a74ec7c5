"""Echoes of another session."""

from wire.echo_liar import EchoServer


class Lie(EchoServer):
    def reply(self, data):
        said = super().reply(data)
        return said[:4] + b"tokenbad" + said[12:]
