"""32 sessions of one address with an account each that nobody reads."""

import json

from wire.http1 import ask, request
from wire.link import link


async def attack(target):
    async def each(number):
        status, answer = await ask(target, "POST", "/unbloat/v1/session", source=target.source(0))
        if status != 201:
            target.counts.errors.append(f"no session: {status}")
            return
        session = json.loads(answer.split(b"\r\n\r\n", 1)[1])["session"]
        async with link(target, target.source(0), tls=False, room=2048) as it:
            if it:
                it.writer.transport.pause_reading()
                await it.send(request("GET", f"/unbloat/v1/session/{session}/account"))
                await target.over()
                # Open for the server?
                if not server_has(target, it):
                    it.ended()

    await target.once(32, each)


def server_has(target, it):
    """Whether the server's end of the connection is still there: ours does not hear of its end while it reads nothing."""
    port = it.writer.get_extra_info("sockname")[1]
    for file in ("tcp", "tcp6"):
        for line in open(f"/proc/net/{file}").readlines()[1:]:
            fields = line.split()
            local, remote, state = fields[1], fields[2], fields[3]
            if int(local.rsplit(":", 1)[1], 16) == target.plain and int(remote.rsplit(":", 1)[1], 16) == port and state == "01":
                return True
    return False
