"""Notes of ndt7 that are brackets, numbers of 10^400 and escape sequences."""

from wire import websocket
from wire.liar import ESCAPES
from wire.ndt7_liar import Ndt7

NOTES = [b'{"TCPInfo":' + b"[" * 20_000, b'{"TCPInfo":{"RTT":1e400,"MinRTT":-9223372036854775808,"BytesAcked":99999999999999999999}}',
         b'{"ConnectionInfo":{"Client":"' + ESCAPES.encode() + b'"}}']


class Lie(Ndt7):
    async def talk(self, it):
        for _ in range(100):
            for note in NOTES:
                await it.send(websocket.frame(websocket.TEXT, note, masked=False))
        await it.stall()
