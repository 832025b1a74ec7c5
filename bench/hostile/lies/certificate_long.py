"""A chain of 100 certificates, pinned."""

from wire import certificate
from wire.liar import Server


class Lie(Server):
    scheme = "https"
    may = ("error", "doubt", "complete")

    def make_certificate(self):
        return certificate.make(self.folder, more=99)
