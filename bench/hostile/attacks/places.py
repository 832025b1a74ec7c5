"""Places and memory, and requests that are none of a client's business."""

import asyncio
import json
from pathlib import Path

from attacks import attack
from wire import websocket
from wire.http1 import ask, request
from wire.http2 import DATA, frame, http2
from wire.http2 import ask as ask_over_http2
from wire.link import link
from wire.silence import silence
from wire.windows import Windows

NDT7 = "net.measurementlab.ndt.v7"
MANY = 10_000


def silent(name, about, sources, address=None):
    """Connections from these addresses that say nothing, opened again when they are closed."""
    async def run(target):
        await silence(target, sources(target), address)
    run.__name__, run.__doc__ = name, about
    attack(is_silent=True, waits=True, mib=256)(run)


silent("silent_four", "4,096 connections of four addresses that say nothing, opened again when closed.",
       lambda target: [target.source(0, network=10 + at % 4) for at in range(4096)])
silent("silent_network", "4,096 silent connections of the 250 addresses of one /24.",
       lambda target: [target.source(at % 250, network=20) for at in range(4096)])
silent("silent_customer", "4,096 silent connections of 256 networks of /64, all of one customer's /56.",
       lambda _: [f"2001:db8:7:{at % 256:x}::1" for at in range(4096)], address="2001:db8::1")
silent("silent_many", "10,000 silent connections of 40 addresses, each of another /24.",
       lambda target: [target.source(0, network=30 + at % 40) for at in range(MANY)])
silent("silent_botnet", "10,000 silent connections of as many addresses, in 40 networks of /24.",
       lambda target: [target.source(at, network=80) for at in range(MANY)])


@attack(waits=True)
async def sessions_all(target):
    """All 1,000 sessions, taken by 40 addresses of one /24."""
    taken, gone = 0, 0
    for number in range(1200):
        status, _ = await ask(target, "POST", "/unbloat/v1/session", source=target.source(number % 40, network=40))
        taken += status == 201
        gone += status in (429, 503)
        if not target.goes_on() or gone > 60:
            break
    if taken == 0:
        target.counts.errors.append("no session was opened")
    target.in_place()
    await target.over()


@attack(seconds=45, closes=True)
async def account_unread(target):
    """32 sessions of one address with an account each that nobody reads."""
    async def each(number):
        status, answer = await ask(target, "POST", "/unbloat/v1/session", source=target.source(0))
        if status != 201:
            target.counts.errors.append(f"no session: {status}")
            return
        session = json.loads(answer.split(b"\r\n\r\n", 1)[1])["session"]
        async with link(target, target.source(0), tls=False, room=2048) as it:
            if it:
                it.writer.transport.pause_reading()
                await it.send(request("GET", f"/unbloat/v1/session/{session}/account"))
                await target.over()
                # Open for the server?
                if not server_has(target, it):
                    it.ended()

    await target.once(32, each)


def server_has(target, it):
    """Whether the server's end of the connection is still there: ours does not hear of its end while it reads nothing."""
    port = it.writer.get_extra_info("sockname")[1]
    for file in ("tcp", "tcp6"):
        for line in open(f"/proc/net/{file}").readlines()[1:]:
            fields = line.split()
            local, remote, state = fields[1], fields[2], fields[3]
            if int(local.rsplit(":", 1)[1], 16) == target.plain and int(remote.rsplit(":", 1)[1], 16) == port and state == "01":
                return True
    return False


@attack(options=("--max-rate", "20 Mbit/s"), shares=True, waits=True)
async def uploads_paused(target):
    """Uploads that wait for `--max-rate` in memory: 40 connections of HTTP/2 fill the windows that they are given."""
    piece = 16384

    async def each(number):
        async with http2(target, target.source(number % 2), reads=False) as it:
            if it is None:
                return
            windows = Windows(1)
            it.task = asyncio.ensure_future(windows.follow(it))
            await it.send(ask_over_http2(1, b"POST", b"/upload"))
            while target.goes_on():
                if windows.room() >= piece:
                    windows.take(piece)
                    await it.send(frame(DATA, 0, 1, bytes(piece)))
                else:
                    target.in_place()
                    await it.send(b"")
                    await asyncio.sleep(0.05)

    await target.once(40, each)


@attack(waits=True)
async def ndt7_places(target):
    """Every place of ndt7, taken by one address, with a message of 15 MiB in each."""
    upgraded = 0

    async def each(number):
        nonlocal upgraded
        async with link(target, target.source(0)) as it:
            if it and await websocket.upgrade(it, "/ndt/v7/upload", NDT7) == 101:
                upgraded += 1
                await it.send(websocket.head(websocket.BINARY | websocket.FINAL, 16 << 20))
                for _ in range(15 * 16):
                    await it.send(bytes(1 << 16))
                await target.over()

    async def another():
        await asyncio.sleep(2)
        target.in_place()
        async with link(target, target.source(1)) as it:
            if it is None or await websocket.upgrade(it, "/ndt/v7/upload", NDT7) != 101:
                target.fault("ndt7 has no place for another address")

    await asyncio.gather(target.once(50, each), another())
    if upgraded == 0:
        target.counts.errors.append("no upgrade")


@attack()
async def congestion_controls(target):
    """Congestion controls that this kernel allows to nobody but root, and names that would load a module."""
    read = lambda which: Path(f"/proc/sys/net/ipv4/tcp_{which}_congestion_control").read_text().split()
    allowed, available = read("allowed"), read("available")
    forbidden = [name for name in available if name not in allowed]
    if not forbidden:
        target.counts.errors.append("this kernel allows all that it has: nothing to forbid")
    for name in allowed:
        status, _ = await ask(target, "GET", f"/large?bytes=1&congestion_control={name}")
        if status != 200:
            target.fault(f"{name}, which is allowed: {status}")
    while target.goes_on():
        for name in [*forbidden, "dctcp", "nonesuch", "x" * 15]:
            status, _ = await ask(target, "GET", f"/large?bytes=1&congestion_control={name}")
            if status != 400:
                target.fault(f"{name}, which is not allowed: {status}")
        await target.pause(0.5)


@attack()
async def cross_site(target):
    """Requests that a page of another site has a visitor's browser send: loads, sessions, WebSockets."""
    elsewhere, cross = ("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")
    while target.goes_on():
        for method, path in (("GET", "/large?bytes=1000"), ("POST", "/upload"), ("POST", "/unbloat/v1/session"), ("GET", "/small")):
            for fields in ([cross, elsewhere], [cross]):
                status, _ = await ask(target, method, path, fields)
                if status in (200, 201) and path != "/small":
                    target.fault(f"{method} {path} of another site: {status}")
        status, _ = await ask(target, "GET", "/large?bytes=1", [("sec-fetch-site", "same-origin")])
        if status != 200:
            target.fault(f"/large of its own page: {status}")
        for path, protocol in (("/unbloat/v1/ws", None), ("/ndt/v7/download", NDT7)):
            async with link(target) as it:
                if it and await websocket.upgrade(it, path, protocol, [elsewhere]) == 101:
                    target.fault(f"WebSocket {path} for a page of another site")
        await target.pause(1)
