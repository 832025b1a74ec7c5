"""Numbers of the account beyond any sense: times of 2^63, bytes of 2^64, round trips of 10^300 ms, clocks that go back."""

import asyncio

from wire.liar import Server

TIMES = [2 ** 63 - 1, -2 ** 63, 0, -1, 2 ** 62, 10 ** 18]


class Lie(Server):
    may = ("error", "doubt", "complete")

    async def account(self, it):
        await it.begin(200, chunked=True)
        await it.chunk(b'{"time_ns":1,"flows":[{"flow":0,"direction":"down","connection":1,"open":true,"bytes":18446744073709551615},'
                       b'{"flow":1,"direction":"up","connection":2,"open":true,"bytes":1}]}\n')
        while True:
            for time in TIMES:
                odd = (b'{"time_ns":%d,"bytes":[[0,18446744073709551615],[1,0],[65535,1]],"connections":[{"connection":1,"tcp":'
                       b'{"rtt_ms":1e300,"min_rtt_ms":-1e300,"cwnd_bytes":18446744073709551615,"delivery_rate_bps":1e308,"busy_ms":-5}}]}\n')
                await it.chunk(odd % time)
                await asyncio.sleep(0.05)
