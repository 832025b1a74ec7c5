"""From a run's four captures to what stands at each vantage point."""

import json
import random
from collections import Counter

from . import disguise, pcap

NAMES = ("client", "server", "mid", "mid_down", "mid_up", "nat")
PUBLIC = "198.51.100.7"
CLIENT, SERVER = "10.45.0.1", "10.99.0.1"
CLIENTS, SERVERS = b"\x0a\x2d", b"\x0a\x63"
SNAP_LEN = 96
HOSTS = "hosts.json"


def files_of(situation, folder):
    """By vantage point."""
    into = folder / "-".join(["seen", *situation.disguise])
    return {name: into / f"{name}.pcap" for name in NAMES}


def write(situation, folder):
    """Makes them of a run's captures, which are removed: they are large."""
    hosts = {role: host_address(folder, role) for role in ("client", "server", *situation.hidden)}
    (folder / HOSTS).write_text(json.dumps(hosts))
    hidden = {pcap.packed(hosts[role]) for role in situation.hidden}
    files = files_of(situation, folder)
    files["mid"].parent.mkdir()
    snap_len = SNAP_LEN + max([disguise.TUNNELS.get(name, 0) for name in situation.disguise], default=0)
    for name, packets in vantages(situation, folder, hidden, Translation(situation)).items():
        packets = disguise.apply(situation.disguise, packets, f"{situation.family}/{situation.seed}/{name}")
        pcap.write(files[name], packets, snap_len, in_order="clock" not in situation.disguise)
    for path in folder.glob("*.pcap"):
        path.unlink()


def hidden_hosts(situation, folder):
    hosts = json.loads((folder / HOSTS).read_text())
    return {hosts[role] for role in situation.hidden}


def vantages(situation, folder, hidden, translate):
    hosts = {role: visible(folder / f"{role}.pcap", hidden) for role in ("client", "server")}
    path = visible(folder / "path-server-side.pcap", hidden)
    middle = [at(one, situation.one_way_s * situation.tap_share) for one in path]
    beyond = [translate.packet(at(one, situation.one_way_s * situation.tap_share / 2)) for one in path]
    return {
        **hosts, "mid": middle, "nat": beyond,
        "mid_down": [one for one in middle if one.data[12:14] == SERVERS],
        "mid_up": [one for one in middle if one.data[12:14] == CLIENTS],
    }


def visible(path, hidden):
    return [one for one in pcap.read(path) if one.data[12:16] not in hidden and one.data[16:20] not in hidden]


def at(packet, from_server_s):
    """As a tap sees it that lies so far from the server; wires delay alike at all times."""
    by = int(from_server_s * 1e9)
    return packet.moved(by if packet.data[12:14] == SERVERS else -by)


def host_address(folder, role):
    """Of a host of the run: the address that is in all its packets."""
    seen = Counter(end for one in pcap.read(folder / f"{role}.pcap") for end in (one.source[0], one.destination[0]))
    return seen.most_common(1)[0][0] if seen else "0.0.0.0"


class Translation:
    """A NAT: all clients behind one address, ports drawn anew."""

    def __init__(self, situation):
        self._draw = random.Random(f"nat/{situation.family}/{situation.seed}")
        self._order = list(range(20_000, 60_000))
        self._draw.shuffle(self._order)

    def end(self, end):
        host, port = end
        # By the flow alone, so that it needs no memory.
        return PUBLIC, self._order[(port * 7 + int(host.split(".")[-1]) * 131) % len(self._order)]

    def packet(self, packet):
        if packet.protocol not in (pcap.TCP, pcap.UDP):
            return packet
        if packet.data[12:14] == CLIENTS:
            return pcap.with_ends(packet, source=self.end(packet.source))
        return pcap.with_ends(packet, destination=self.end(packet.destination))
