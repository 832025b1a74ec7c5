"""No lie: the honest server that the lies are variations of."""

from wire.liar import Server


class Lie(Server):
    may = ("complete", "doubt")
