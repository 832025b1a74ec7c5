"""A session whose name is a path and a header."""

from wire.liar import Server


class Lie(Server):
    may = ("error", "doubt", "complete")

    def opened(self):
        return {**super().opened(), "session": "../../../etc/passwd?\r\nx: y"}
