"""All at once."""

import asyncio
import contextlib
import re
import ssl
import sys
import time

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

from attacks import METRICS, attack
from wire.http3 import DECODER, ENCODER, Closed, http3, number
from wire.link import link
from wire.silence import silence

SILENT, SLOW, HALF_NETWORKS, HALF_EACH, QPACK = 10_000, 500, 64, 4, 16
# For a newcomer, and for the last connection to be forgotten.
SOON_S, FORGOTTEN_S = 2, 10
# A process of its own: this one is busy.
NEWCOMER = """
import http.client, sys, time
source, server, port, patience = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
begun = time.monotonic()
try:
    connection = http.client.HTTPConnection(server, port, timeout=patience, source_address=(source, 0))
    connection.request("GET", "/small")
    print(connection.getresponse().status, time.monotonic() - begun)
except OSError as error:
    print(error or type(error).__name__, time.monotonic() - begun)
"""


async def slow(target, at):
    """A header byte by byte; again when it is ended."""
    async with link(target, target.source(at % 50, network=200 + at // 50), tls=at % 2 == 0) as it:
        if it:
            await it.send(b"GET /small HTTP/1.1\r\nx: ")
            while target.goes_on():
                await it.send(b"y")
                await target.pause(0.5)


class Half(asyncio.DatagramProtocol):
    """Follows the Retry, and then says nothing more."""

    def __init__(self, target):
        self.target, self.heard = target, 0
        configuration = QuicConfiguration(is_client=True, alpn_protocols=["h3"], server_name="bench", verify_mode=ssl.CERT_NONE)
        self.quic = QuicConnection(configuration=configuration)

    def connection_made(self, transport):
        self.transport = transport
        self.quic.connect((self.target.address, self.target.tls), now=time.monotonic())
        self.send()

    def send(self):
        for data, _ in self.quic.datagrams_to_send(now=time.monotonic()):
            self.target.counts.sent += len(data)
            self.transport.sendto(data)

    def datagram_received(self, data, address):
        self.heard += 1
        if self.heard == 1:
            self.quic.receive_datagram(data, (self.target.address, self.target.tls), now=time.monotonic())
            self.send()


async def half(target, at):
    source = target.source(at // HALF_NETWORKS, network=100 + at % HALF_NETWORKS)
    made, this = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: Half(target), local_addr=(source, 0), remote_addr=(target.address, target.tls))
    target.counts.made += 1
    await target.pause(3)
    if this.heard == 0:
        target.counts.refused += 1
    made.close()


async def unread(target, at):
    """Entries for QPACK's tables, which nobody asked for."""
    async with http3(target, target.source(at, network=180)) as it:
        if it:
            streams = [it.stream(one_way=True) for _ in range(2)]
            for stream, kind in zip(streams, (ENCODER, DECODER)):
                it.put(stream, number(kind))
            with contextlib.suppress(Closed):
                while target.goes_on():
                    for stream in streams:
                        await it.send(stream, bytes(1 << 14))
                    await target.pause(0.5)


async def newcomers(target):
    served = 0
    while target.goes_on():
        source = target.source(served % 200, network=400)
        asked = await asyncio.create_subprocess_exec(sys.executable, "-c", NEWCOMER, source, target.address, str(target.plain), str(SOON_S),
                                                     stdout=asyncio.subprocess.PIPE)
        said = (await asked.communicate())[0].decode().split()
        if said[:1] != ["200"] or float(said[1]) > SOON_S:
            target.fault(f"a newcomer got: {' '.join(said)} s")
        served += 1
        await target.pause(0.5)
    if not served:
        target.counts.errors.append("no newcomer came")


async def forgotten(target):
    """Whether the server knows of no connection any more."""
    until = time.monotonic() + FORGOTTEN_S
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", METRICS)
        writer.write(b"GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
        text = (await reader.read(-1)).decode()
        writer.close()
        left = re.search(r"^unbloat_server_connections (\d+)", text, re.M)
        if left and left[1] == "0":
            return
        if time.monotonic() > until:
            target.fault(f"{left[1] if left else 'unknown'} connections after all have left")
            return
        await asyncio.sleep(0.2)


@attack(seconds=20, waits=True, mib=480, options=("--metrics", f"127.0.0.1:{METRICS}"))
async def everything(target):
    """All at once: 10,000 silent connections, 500 slow ones, half QUIC handshakes from 64 networks, unread QPACK streams; a newcomer must be
    served within 2 s."""
    silent = [target.source(0, network=30 + at % 40) for at in range(SILENT)]
    crowds = [(SLOW, slow), (HALF_NETWORKS * HALF_EACH, half), (QPACK, unread)]

    async def lanes(many, lane):
        # One that fails to connect tries again.
        async def one(at):
            with contextlib.suppress(OSError, Closed):
                await lane(target, at)

        await target.lanes(many, one)

    crowd = asyncio.ensure_future(silence(target, silent))
    while target.goes_on() and not target.is_in_place.is_set():
        await asyncio.sleep(0.1)
    flood = [asyncio.ensure_future(lanes(*one)) for one in crowds]
    await newcomers(target)
    await asyncio.gather(crowd, *flood, return_exceptions=True)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await asyncio.sleep(0.5)
    await forgotten(target)
