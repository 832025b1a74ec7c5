"""`test_endpoint` names a third party, with TLS that is not checked."""

from wire.elsewhere import Elsewhere


class Lie(Elsewhere):
    scheme = "https"
    is_believed = True

    def trust(self):
        return ["--insecure"]
