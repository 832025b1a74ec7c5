"""Echoes of 60,000 bytes, and cut ones."""

from wire.echo_liar import EchoServer


class Lie(EchoServer):
    may = ("error", "doubt", "complete")

    def reply(self, data):
        number = data[12]
        said = super().reply(data)
        return said + bytes(60_000) if number % 2 else said[:number % 60 + 1]
