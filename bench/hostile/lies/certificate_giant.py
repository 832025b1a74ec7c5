"""A certificate with an extension of 10 MB."""

from wire import certificate
from wire.liar import Server


class Lie(Server):
    scheme = "https"
    may = ("error",)

    def make_certificate(self):
        return certificate.make(self.folder, extension=10_000_000)
