"""500 answers to each echo: again, of other numbers, and of no session."""

from wire.echo_liar import EchoServer


class Lie(EchoServer):
    may = ("error", "doubt", "complete")

    def echo(self, data, to, transport):
        super().echo(data, to, transport)
        if len(data) >= 16 and not data[3]:
            for n in range(500):
                number = (int.from_bytes(data[12:16], "little") + n * 7919) & 0xffffffff
                transport.sendto(self.reply(data[:12] + number.to_bytes(4, "little") + data[16:]), to)
