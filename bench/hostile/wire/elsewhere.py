"""A server whose description names a third party, which is there and answers."""

import asyncio

from testbed import ECHO
from wire.liar import Echo, Server

OTHER = "198.18.7.7"


class Elsewhere(Server):
    # It may go on without the endpoint, if it says so.
    may = ("error", "doubt", "complete")
    other = OTHER
    # With the same certificate, where it speaks TLS.
    is_believed = False

    def endpoint(self):
        return self.other

    async def more(self):
        await asyncio.start_server(self.accepted, self.other, self.port, ssl=self.tls if self.is_believed else None)
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: Echo(self), local_addr=(self.other, ECHO))
