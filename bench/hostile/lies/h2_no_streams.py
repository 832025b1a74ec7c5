"""SETTINGS that allow no stream."""

from wire.http2 import settings
from wire.http2_liar import Http2


class Lie(Http2):
    first = settings((3, 0))
