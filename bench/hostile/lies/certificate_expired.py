"""A certificate of the right name whose time is over."""

from wire import certificate
from wire.liar import Server


class Lie(Server):
    scheme = "https"
    may = ("error",)

    def make_certificate(self):
        return certificate.make(self.folder, days=(-30, -1))

    def trust(self):
        return ["--ca", str(self.certificate.chain)]
