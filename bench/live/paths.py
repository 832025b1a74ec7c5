"""The emulated paths on which live tests are compared with what the path did."""

import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass

from bed import ROOT

TRACES = ROOT / "traces/mahimahi"


@dataclass
class Path:
    about: str
    # Of `lab shell`.
    options: list
    idle_ms: float
    # Mbit/s that advice is held against: TCP payload at most what the line carries. None where the rate changes.
    down_mbps: float | None
    up_mbps: float | None
    # A download by somebody else runs before, during and after the test.
    is_loaded: bool = False
    # The load waits for itself alone: the emulator's waits are of the load, a test's of what is beside it.
    has_own_queues: bool = False
    # The server answers so many echo requests of ICMP a second.
    pings_per_s: float | None = None


def line(about, down_mbps, up_mbps, down_queue, up_queue, delay_ms, *more):
    options = ["--rate-down", f"{down_mbps} Mbit/s", "--rate-up", f"{up_mbps} Mbit/s", "--queue", down_queue, "--queue-up", up_queue]
    delay = [] if delay_ms is None else ["--delay", f"{delay_ms}ms"]
    return Path(about, [*options, *delay, *more], 2 * (delay_ms or 25), down_mbps, up_mbps)


def satellite():
    """A low orbit: the rates of both directions change every few seconds."""
    spans = {"down": [(4, 120), (3, 70), (5, 160), (3, 90)], "up": [(4, 14), (3, 8), (5, 18), (3, 10)]}
    steps = {way: ", ".join(f'{{ span = "{span} s", rate = "{rate} Mbit/s" }}' for span, rate in of) for way, of in spans.items()}
    options = []
    for way, queue in (("down", "1.5 MB"), ("up", "500 kB")):
        options += ["--set", f"link.{way}.steps=[{steps[way]}]", "--set", f"link.{way}.delay=20ms", "--set", f"link.{way}.jitter=8ms",
                    "--set", f"link.{way}.loss=0.002", "--set", f'link.{way}.queue={{ kind = "droptail", limit = "{queue}" }}']
    return Path("a satellite link: 70 to 160 Mbit/s down and 8 to 18 Mbit/s up in steps of 3 to 5 s, drop-tail buffers of 1.5 MB and 500 kB, 20 ms each way, 8 ms jitter, 0.2 % loss",
                options, 48, None, None)


PATHS = {
    "droptail": line("50/10 Mbit/s, drop-tail buffers of 160 ms and 240 ms, 10 ms each way", 50, 10, "droptail:1MB", "droptail:300kB", 10),
    "asymmetric": line("50/10 Mbit/s, drop-tail buffers of 160 ms and 240 ms, 5 ms down and 45 ms up", 50, 10, "droptail:1MB", "droptail:300kB", None,
                       "--set", "link.down.delay=5ms", "--set", "link.up.delay=45ms"),
    "codel": line("50/10 Mbit/s, CoDel in both directions, 10 ms each way", 50, 10, "codel", "codel", 10),
    "lte": Path("recorded LTE downlink and uplink (5.0 and 6.0 Mbit/s on average), drop-tail buffers of 1 MB and 256 kB, 20 ms each way",
                ["--trace-down", str(TRACES / "Verizon-LTE-short.down.gz"), "--trace-up", str(TRACES / "Verizon-LTE-short.up.gz"),
                 "--queue", "droptail:1MB", "--queue-up", "droptail:256kB", "--delay", "20 ms"], 40, None, None),
    "deep-20": line("20/5 Mbit/s, drop-tail buffers of 500 kB (200 ms and 800 ms), 20 ms each way", 20, 5, "droptail:500kB", "droptail:500kB", 20),
    "deep-35": line("35/7 Mbit/s, drop-tail buffers of 60 ms down and 420 ms up, 10 ms each way", 35, 7, "droptail:262kB", "droptail:367kB", 10),
    "deep-80": line("80/20 Mbit/s, drop-tail buffers of 60 ms down and 350 ms up, 10 ms each way", 80, 20, "droptail:600kB", "droptail:875kB", 10),
    "codel-down": line("3/0.8 Mbit/s, CoDel down, a drop-tail buffer of 600 ms up, 15 ms each way", 3, 0.8, "codel", "droptail:60kB", 15),
    "starved": line("100/1 Mbit/s, drop-tail buffers of 50 ms down and 300 ms up, 10 ms each way", 100, 1, "droptail:625kB", "droptail:37500B", 10),
    "starved-30": line("30/0.3 Mbit/s, drop-tail buffers of 100 ms down and 800 ms up, 10 ms each way", 30, 0.3, "droptail:375kB", "droptail:30kB", 10),
    "loaded": line("30/10 Mbit/s, drop-tail buffers of 170 ms down and 100 ms up, 15 ms each way, another host downloads all the time",
                   30, 10, "droptail:640kB", "droptail:125kB", 15),
    "satellite": satellite(),
    "fair": line("40/8 Mbit/s, CAKE in both directions, 20 ms each way", 40, 8, "cake", "cake", 20),
    "shallow": line("100/30 Mbit/s, drop-tail buffers of 15 ms, 12 ms each way", 100, 30, "droptail:187kB", "droptail:56kB", 12),
    "up-only": line("60/6 Mbit/s, CoDel down, a drop-tail buffer of 150 ms up, 8 ms each way", 60, 6, "codel", "droptail:112kB", 8),
}
# Clean lines, on which something else than a queue is late.
CLEAN = {
    "wifi": line("40/8 Mbit/s, CAKE in both directions, 10 ms each way, behind Wi-Fi that loses 1 % and delays by up to 15 ms", 40, 8, "cake", "cake", 10,
                 *(word for way in ("down", "up") for key in ("loss=0.01", "jitter=15ms") for word in ("--set", f"link.{way}.{key}"))),
    "few-pings": line("40/8 Mbit/s, CAKE in both directions, 10 ms each way, a server that answers 2 echo requests a second", 40, 8, "cake", "cake", 10),
}
CLEAN["few-pings"].pings_per_s = 2
for path in CLEAN.values():
    path.has_own_queues = True
PATHS["loaded"].is_loaded = True
PATHS["fair"].has_own_queues = True


def named(name):
    """A path by its name, or a line with drop-tail buffers by its numbers: DOWN/UP/RTT/BUFFER, in Mbit/s and ms."""
    if known := (PATHS | CLEAN).get(name):
        return known
    down, up, rtt, buffer = map(float, name.split("/"))
    queues = [f"droptail:{max(6.0, rate * buffer / 8):.0f}kB" for rate in (down, up)]
    return line(f"{down:g}/{up:g} Mbit/s, drop-tail buffers of {buffer:g} ms, {rtt / 2:g} ms each way", down, up, *queues, rtt / 2)


SEND = """
import socket, sys
listening = socket.create_server((sys.argv[1], 0))
print(listening.getsockname()[1], flush=True)
to, _ = listening.accept()
to.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[2].encode())
piece = bytes(65536)
while True:
    to.sendall(piece)
"""
TAKE = """
import socket, sys
taken = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while taken.recv(65536):
    pass
"""


@contextmanager
def loaded(bed, path):
    """A download over the bed's path for as long as the `with`, if the path is a loaded one."""
    if not path.is_loaded:
        yield
        return
    sender = subprocess.Popen([sys.executable, "-c", SEND, bed.address, bed.control], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    port = sender.stdout.readline().strip()
    taker = subprocess.Popen(bed.within([sys.executable, "-c", TAKE, bed.address, port]), stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        for process in (sender, taker):
            process.kill()
            process.wait()
