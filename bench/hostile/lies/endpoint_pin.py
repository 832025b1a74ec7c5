"""`test_endpoint` names a third party, with a pinned certificate that it does not have."""

from wire.elsewhere import Elsewhere


class Lie(Elsewhere):
    scheme = "https"
    # One handshake, which is not believed.
    spared = 4096
