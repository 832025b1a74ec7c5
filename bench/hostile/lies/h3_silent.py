"""QUIC that shakes hands and then says nothing."""

from wire.quic_liar import QuicServer


class Lie(QuicServer):
    pass
