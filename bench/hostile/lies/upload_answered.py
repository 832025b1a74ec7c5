"""Uploads that are answered before they have begun: all was received, 2^64 bytes."""

from wire.liar import Server


class Lie(Server):
    async def upload(self, it):
        await it.say(200, b'{"received_bytes":18446744073709551616}')
        while await it.reader.read(65536):
            pass
