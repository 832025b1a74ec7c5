"""An upgrade with another's key."""

from wire.ndt7_liar import Ndt7


class Lie(Ndt7):
    may = ("error",)

    def accept(self, key):
        return super().accept(b"another")
