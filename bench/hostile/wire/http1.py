"""Requests of HTTP/1.1."""

import asyncio

from wire.link import Closed, link


def request(method, path, fields=(), body=b""):
    lines = [f"{method} {path} HTTP/1.1", "host: bench", *[f"{name}: {value}" for name, value in fields]]
    if method in ("POST", "PUT") and not any(name in ("content-length", "transfer-encoding") for name, _ in fields):
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


async def ask(target, method, path, fields=(), source=None, body=b""):
    """Status and header of one answer on a connection of its own; 0 without an answer."""
    async with link(target, source) as it:
        if it is None:
            return 0, b""
        try:
            await it.send(request(method, path, fields, body))
            status = await asyncio.wait_for(it.status(), 10)
        except (Closed, asyncio.TimeoutError):
            return 0, b""
        if method != "HEAD":
            it.header += b"\r\n\r\n" + it.rest
        return status, it.header
    return 0, b""
