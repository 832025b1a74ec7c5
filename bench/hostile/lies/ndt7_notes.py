"""Notes of ndt7 as fast as they are read."""

from wire import websocket
from wire.ndt7_liar import Ndt7

NOTE = b'{"AppInfo":{"ElapsedTime":1,"NumBytes":1},"TCPInfo":{"RTT":1,"MinRTT":1,"BytesAcked":1,"ElapsedTime":1}}'


class Lie(Ndt7):
    says = ""

    async def talk(self, it):
        while True:
            await it.send(websocket.frame(websocket.TEXT, NOTE, masked=False) * 500)
