"""`test_endpoint` names a third party, without TLS: the load, the account and the token would be its."""

from wire.elsewhere import Elsewhere


class Lie(Elsewhere):
    client = ("--http", "1.1", "--token", "SECRET")
