"""Connections that say nothing: thousands, each with little of its own here."""

import asyncio

# Begun at a time, of listen(2)'s queue of some hundreds.
AT_ONCE = 200


class Silent(asyncio.Protocol):
    def __init__(self, counts, gone):
        self.counts, self.gone = counts, gone

    def connection_made(self, transport):
        self.counts.made += 1

    def connection_lost(self, error):
        self.counts.closed += 1
        self.gone.set()


async def silence(target, sources, address=None):
    """One connection from each source; one that is closed is opened again."""
    gate = asyncio.Semaphore(AT_ONCE)
    tried = set()
    loop, counts = asyncio.get_running_loop(), target.counts
    counts.lanes += len(sources)

    async def hold(number, source):
        while target.goes_on():
            gone = asyncio.Event()
            async with gate:
                try:
                    opening = loop.create_connection(lambda: Silent(counts, gone), address or target.address, target.tls,
                                                     local_addr=(source, 0))
                    transport, _ = await asyncio.wait_for(opening, 5)
                except (OSError, asyncio.TimeoutError):
                    counts.refused += 1
                    transport = None
            tried.add(number)
            if len(tried) == len(sources):
                target.in_place()
            if transport:
                await gone.wait()
            await asyncio.sleep(0.1)

    holding = [asyncio.ensure_future(hold(*pair)) for pair in enumerate(sources)]
    await target.over()
    for task in holding:
        task.cancel()
    counts.held = counts.made - counts.closed
