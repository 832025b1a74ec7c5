"""A TCP port where TLS is due, and something else is."""

from wire.liar import Server


class Raw(Server):
    may = ("error",)

    def command(self):
        return [f"https://{self.host}:{self.port}", "--insecure", *self.client]
