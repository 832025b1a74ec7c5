"""Interim answers (100) without end in place of one."""

from wire.liar import Server


class Lie(Server):
    may = ("error",)

    async def description(self, it):
        while True:
            await it.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
