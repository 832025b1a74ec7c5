"""1,024 flows, then 300 kB of lines that say nothing new."""

from wire.liar import Server

FLOWS = 1024


class Lie(Server):
    may = ("error", "doubt", "complete")

    def flood(self, it):
        flows = ",".join(f'{{"flow":{n},"direction":"up","connection":1,"open":true,"bytes":0}}' for n in range(FLOWS))
        return b'{"time_ns":1,"flows":[%s]}\n' % flows.encode() + b'{"time_ns":2}\n' * 20_000

    async def account(self, it):
        await it.begin(200, chunked=True)
        flood = self.flood(it)
        for at in range(0, len(flood), 60_000):
            await it.chunk(flood[at:at + 60_000])
        await it.stall()
