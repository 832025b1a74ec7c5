"""A certificate of a trusted authority for another name."""

from wire import certificate
from wire.liar import Server


class Lie(Server):
    scheme = "https"
    may = ("error",)

    def make_certificate(self):
        return certificate.make(self.folder, addresses=(), names=("bank.example",))

    def trust(self):
        return ["--ca", str(self.certificate.chain)]
