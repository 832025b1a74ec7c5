"""A server of ndt7, which upgrades and then says what a lie has it say."""

import base64
import hashlib

from wire.liar import Server

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
# The first connection asks whether ndt7 is spoken here; the loads are those after it.
TRIAL = 1


class Ndt7(Server):
    scheme = "ndt7+http"
    client = ()
    # A test of ndt7 that has nothing to judge by is complete, and says so.
    may, says = ("error", "doubt", "complete"), "No verdict|unbloat: |not to be trusted"

    def accept(self, key):
        return base64.b64encode(hashlib.sha1(key + MAGIC).digest()).decode()

    fields = ()

    async def connection(self, reader, writer):
        from wire.liar import Request
        header = await self.header(reader)
        if not header:
            return
        key = next((line.split(":", 1)[1].strip() for line in header.split("\r\n") if line.lower().startswith("sec-websocket-key")), "")
        it = Request(self, reader, writer, "GET", header.split(" ")[1], "", 0, False)
        lines = ["HTTP/1.1 101 Switching Protocols", "connection: upgrade", "upgrade: websocket",
                 f"sec-websocket-accept: {self.accept(key.encode())}", "sec-websocket-protocol: net.measurementlab.ndt.v7", *self.fields]
        await it.send("\r\n".join([*lines, "", ""]).encode())
        if self.connections > TRIAL:
            await self.talk(it)
        else:
            await reader.read(100)
