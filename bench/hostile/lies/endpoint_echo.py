"""`test_endpoint` names a third party and the session port 53, for datagrams."""

from wire.elsewhere import Elsewhere


class Lie(Elsewhere):
    def opened(self):
        return {**super().opened(), "echo_port": 53}
