"""Echoes with times beyond any sense: before and after all that was, backwards."""

from wire import irtt
from wire.echo_liar import EchoServer
from wire.liar import stamps

ODD = [0, -1, 1, 2 ** 63 - 1, -2 ** 63, 10 ** 18, -10 ** 18, 2 ** 62]


class Lie(EchoServer):
    # Without a load there is no verdict anyway.
    may = ("error", "doubt", "complete")
    count = 0

    def agreed(self, data):
        # Both counts, stamps at receipt and at sending, of both clocks.
        return super().agreed(data) + b"".join(bytes([key]) + irtt.varint(3) for key in (5, 6, 7))

    def reply(self, data):
        self.count += 1
        odd = [ODD[(self.count + n) % len(ODD)] for n in range(4)]
        return data[:3] + bytes([irtt.REPLY]) + data[4:16] + bytes([255] * 12) + stamps(*odd) + data[60:]
