"""`test_endpoint` names an address of the client's own host."""

from wire.elsewhere import Elsewhere


class Lie(Elsewhere):
    other = "127.0.0.77"
