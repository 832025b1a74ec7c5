"""A session with port 70,000 of the echo, version 2^70, life of -1 s."""

from wire.liar import Server


class Lie(Server):
    # Without a session a test goes on, and says so.
    may = ("error", "doubt", "complete")

    def opened(self):
        return {**super().opened(), "version": 2 ** 70, "echo_port": 70_000, "expires_s": -1}
