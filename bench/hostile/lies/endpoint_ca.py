"""`test_endpoint` names a third party, with TLS that the third party does not speak."""

from wire.elsewhere import Elsewhere


class Lie(Elsewhere):
    scheme = "https"
    # One handshake, which is not believed.
    spared = 4096

    def trust(self):
        return ["--ca", str(self.certificate.chain)]
