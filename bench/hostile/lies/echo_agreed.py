"""An echo that agrees to what was not asked: every nanosecond, for a thousand years, of 64 kB."""

from wire import irtt
from wire.echo_liar import EchoServer


class Lie(EchoServer):
    may = ("error", "doubt", "complete")

    def agreed(self, data):
        pairs = [(irtt.VERSION, 1), (irtt.DURATION, 2 ** 62), (irtt.INTERVAL, 1), (irtt.LENGTH, 65535)]
        return irtt.MAGIC + b"\x03tokentok" + b"".join(bytes([key]) + irtt.varint(value) for key, value in pairs)
