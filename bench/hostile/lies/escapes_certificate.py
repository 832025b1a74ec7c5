"""A certificate for names that are escape sequences."""

from wire import certificate
from wire.liar import ESCAPES, Server


class Lie(Server):
    scheme = "https"
    may = ("error",)

    def make_certificate(self):
        return certificate.make(self.folder, addresses=("198.51.100.1",), names=("evil\x1b[31m.example",), title=ESCAPES[:40])

    def trust(self):
        return ["--ca", str(self.certificate.chain)]
