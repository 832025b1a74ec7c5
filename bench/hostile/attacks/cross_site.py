"""Requests that a page of another site has a visitor's browser send: loads, sessions, WebSockets."""

from wire import websocket
from wire.http1 import ask
from wire.link import link

ELSEWHERE = ("origin", "https://evil.example")
CROSS = ("sec-fetch-site", "cross-site")


async def attack(target):
    while target.goes_on():
        for method, path in (("GET", "/large?bytes=1000"), ("POST", "/upload"), ("POST", "/unbloat/v1/session"), ("GET", "/small")):
            for fields in ([CROSS, ELSEWHERE], [CROSS]):
                status, _ = await ask(target, method, path, fields)
                if status in (200, 201) and path != "/small":
                    target.fault(f"{method} {path} of another site: {status}")
        status, _ = await ask(target, "GET", "/large?bytes=1", [("sec-fetch-site", "same-origin")])
        if status != 200:
            target.fault(f"/large of its own page: {status}")
        for path, protocol in (("/unbloat/v1/ws", None), ("/ndt/v7/download", "net.measurementlab.ndt.v7")):
            async with link(target) as it:
                if it and await websocket.upgrade(it, path, protocol, [ELSEWHERE]) == 101:
                    target.fault(f"WebSocket {path} for a page of another site")
        await target.pause(1)
