"""A session whose numbers are NaN and Infinity."""

from wire.liar import Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    def opened(self):
        return {**super().opened(), "echo_port": float("nan"), "expires_s": float("inf"), "limits": {"rate_bps": float("-inf")}}
