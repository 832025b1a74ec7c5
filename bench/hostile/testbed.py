"""Where strangers meet: a network namespace of this process with 131,072 addresses of its own, an ordinary client in another one behind a wire
of 50 Mbit/s, and the server under test."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/live"))
import bed
from bed import cpu_s, program

# RFC 2544's network for benches: all of it is this host's. RFC 5737's for the wire.
SERVER, STRANGERS, STRANGERS6 = "198.18.0.1", "198.18.0.0/15", "2001:db8::/32"
NEAR, FAR = "192.0.2.1", "192.0.2.2"
TLS, PLAIN, ECHO = 4043, 4080, 2112
FILES = 20_000
MIB = 1 << 20


def run(command, **options):
    return subprocess.run(command.split(), check=True, **options)


def isolate():
    """Gives this process a network of its own, so that nothing here meets the machine's."""
    bed.isolate()
    # Who binds no address is the server's own host.
    run(f"ip addr add {SERVER}/32 dev lo")
    run(f"ip route add local {STRANGERS} dev lo src {SERVER}")
    run(f"ip -6 route add local {STRANGERS6} dev lo")
    # IPv6 lets nobody bind an address of such a route otherwise.
    Path("/proc/sys/net/ipv6/ip_nonlocal_bind").write_text("1")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, most), most))


class Wire:
    """To the ordinary client's namespace; its queue is short, so that delays that come from elsewhere are seen."""

    def __enter__(self):
        self.far = subprocess.Popen(["unshare", "-n", "cat"], stdin=subprocess.PIPE)
        mine = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.far.pid}/ns/net") == mine:
            time.sleep(0.01)
        run(f"ip link add near type veth peer name far netns {self.far.pid}")
        for device, address, within in (("near", NEAR, []), ("far", FAR, self.within([]))):
            for command in (f"ip addr add {address}/24 dev {device}", f"ip link set {device} up",
                            f"tc qdisc add dev {device} root tbf rate 50mbit burst 64kb limit 64kb"):
                subprocess.run([*within, *command.split()], check=True)
        return self

    def within(self, command):
        return ["nsenter", f"--net=/proc/{self.far.pid}/ns/net", *map(str, command)]

    def __exit__(self, *_):
        self.far.stdin.close()
        self.far.wait()
        subprocess.run(["ip", "link", "del", "near"], stderr=subprocess.DEVNULL)


class Usage(threading.Thread):
    """Looks every 20 ms how much memory a process holds, without that of its program, of which an attacker gets no more."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.last = pid, 0, 0
        self.ends = threading.Event()

    def run(self):
        while not self.ends.wait(0.02):
            self.look()

    def look(self):
        try:
            resident, of_files = map(int, Path(f"/proc/{self.pid}/statm").read_text().split()[1:3])
        except (FileNotFoundError, ProcessLookupError):
            return
        self.last = (resident - of_files) * os.sysconf("SC_PAGE_SIZE") / MIB
        self.peak = max(self.peak, self.last)


class Server:
    """`unbloat serve`, open as long as its `with`."""

    def __init__(self, unbloat, options, folder):
        at = ["--listen", f"[::]:{TLS}", "--listen-plain", f"[::]:{PLAIN}", "--listen-echo", f"[::]:{ECHO}"]
        self.command = [unbloat, "serve", "--json", *at, "--name", NEAR, *options]
        self.log = Path(folder) / "server.txt"

    def __enter__(self):
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        said = self.process.stdout.readline()
        if not said:
            raise RuntimeError(self.log.read_text().strip())
        self.pin = json.loads(said)["fingerprint"]
        self.usage = Usage(self.process.pid)
        self.usage.look()
        self.first = self.usage.peak
        self.usage.start()
        return self

    def is_alive(self):
        return self.process.poll() is None

    def cpu_s(self):
        return cpu_s(self.process.pid) if self.is_alive() else float("nan")

    def growth(self):
        return self.usage.peak - self.first

    def left(self, few, patience):
        """How much more memory it has than at the start, once that is few, or after so many seconds."""
        until = time.monotonic() + patience
        while self.usage.last - self.first > few and time.monotonic() < until:
            time.sleep(0.1)
        return self.usage.last - self.first

    def __exit__(self, *_):
        self.usage.ends.set()
        self.usage.join()
        if self.is_alive():
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
