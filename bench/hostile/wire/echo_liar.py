"""A server of irtt alone."""

from wire.liar import Server


class EchoServer(Server):
    scheme = "irtt"
    client = ()
