"""Frames of a type that nobody knows, which claim 4 GiB, before a request's header (RFC 9114, 9)."""

from attacks.h3_headers import giant
from wire.http3 import GIANT, frame


async def attack(target):
    await giant(target, frame(0x21, length=GIANT))
