"""1,024 flows on one connection, and 3,000 lines of its kernel's state."""

from lies import account_small


class Lie(account_small.Lie):
    def flood(self, it):
        first = super().flood(it).split(b"\n", 1)[0]
        return first + b"\n" + b'{"time_ns":2,"connections":[{"connection":1,"tcp":{"rtt_ms":1.5,"acked_bytes":7}}]}\n' * 3_000
