"""SETTINGS without end."""

from wire.http2 import settings
from wire.http2_liar import Http2


class Lie(Http2):
    async def lie(self):
        while True:
            await self.send(settings((1, 4096)) * 1000)
