"""No lie at all: what the others are told in place of."""

from wire.liar import Server


class Lie(Server):
    may = ("complete", "doubt")
