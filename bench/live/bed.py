"""A client behind an emulated path, servers before it, and the truth of what the path did: `unbloat lab shell` in a network
namespace of this process."""

import csv
import ctypes
import itertools
import os
import socket
import statistics
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CLONE_NEWNET = 0x40000000
# Of the lab's shell: its device inside, and its network outside.
INSIDE, OUTSIDE, NETWORK = "path", "ub-shell0", "100.64.0.0/16"
STEP_S = 0.01
# A direction is loaded while half a second of it carries more data of TCP than this share of the most that one did, and than this rate.
LOADED, LEAST_BPS = 0.1, 400e3
# A load may be silent for so long.
SILENCE_S = 2.0


def program():
    """The program to measure: $UNBLOAT, or built."""
    if given := os.environ.get("UNBLOAT"):
        return Path(given).resolve()
    subprocess.run(["cargo", "build", "--quiet", "--release", "--locked", "-p", "unbloat-cli"], cwd=ROOT, check=True)
    return (ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release/unbloat").resolve()


def peer(name):
    """Another tool: in $UNBLOAT_PEERS, its bin or the folder of a Python environment in it, or on the path; None if absent."""
    folder = os.environ.get("UNBLOAT_PEERS")
    places = [Path(folder) / part for part in ("", "bin", f"{name}/bin")] if folder else []
    places += [Path(part) for part in os.environ.get("PATH", "").split(":") if part] + [Path("/usr/sbin")]
    found = (place / name for place in places)
    return next((str(file.resolve()) for file in found if file.is_file() and os.access(file, os.X_OK)), None)


def find_peers():
    """Lets tools that start others find them where `peer` does."""
    if folder := os.environ.get("UNBLOAT_PEERS"):
        os.environ["PATH"] = os.pathsep.join([folder, str(Path(folder) / "bin"), os.environ.get("PATH", "")])


def isolate():
    """Gives this process a network of its own, so that nothing here meets the machine's."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise SystemExit(f"no network namespace: {os.strerror(ctypes.get_errno())} (needs root)")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    find_peers()


def load_average():
    return float(Path("/proc/loadavg").read_text().split()[0])


def cpu_s(pid):
    """CPU time of a process, user and system; None when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Bed:
    """Open as long as its `with`. `truth` is there afterwards."""

    def __init__(self, unbloat, options, folder, congestion_control="cubic"):
        self.unbloat, self.options, self.folder = unbloat, options, Path(folder)
        self.control = congestion_control
        self.servers, self.truth, self.said = [], None, ""

    def __enter__(self):
        self.series = self.folder / "truth.csv"
        self.log = open(self.folder / "path.txt", "w+")
        command = [self.unbloat, "lab", "shell", *self.options, "--output", self.series, "--", "sh", "-c",
                   "echo $$ $UNBLOAT_BASE; exec cat > /dev/null"]
        self.shell = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=self.log, text=True)
        words = self.shell.stdout.readline().split()
        if len(words) != 2:
            self.log.seek(0)
            raise RuntimeError(self.log.read().strip())
        self.inside, self.address = words
        # The kernel lets nobody set the default of a namespace to a restricted control; routes may name any.
        control = ["congctl", self.control]
        subprocess.run(["ip", "route", "change", NETWORK, "dev", OUTSIDE, "src", self.address, *control], check=True)
        subprocess.run(self.within(["ip", "route", "change", "default", "dev", INSIDE, *control]), check=True)
        return self

    def within(self, command):
        return ["nsenter", f"--net=/proc/{self.inside}/ns/net", *map(str, command)]

    def serve(self, command, port=None, wait_s=1.0, **options):
        """Starts a server before the path; waits until its TCP port listens, or for a moment."""
        log = open(self.folder / f"server-{Path(command[0]).name}.txt", "w")
        started = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   cwd=self.folder, **options)
        self.servers.append(started)
        deadline = time.monotonic() + 10
        while port and time.monotonic() < deadline and started.poll() is None:
            try:
                socket.create_connection((self.address, port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        else:
            time.sleep(wait_s)
        if started.poll() is not None:
            raise RuntimeError(f"{command[0]} ended at once, see {log.name}")
        return started

    def client(self, command, limit_s=180, **options):
        """Runs a client behind the path to its end."""
        return subprocess.run(self.within(command), cwd=self.folder, capture_output=True, text=True, timeout=limit_s, **options)

    def __exit__(self, kind, error, trace):
        for server in self.servers:
            server.terminate()
        for server in self.servers:
            try:
                server.wait(5)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        self.shell.stdin.close()
        self.shell.wait()
        self.log.seek(0)
        self.said = self.log.read()
        if kind is None:
            self.truth = Truth(self.series)


class Truth:
    """What the path did in steps of 10 ms, by direction; times are of CLOCK_MONOTONIC in seconds."""

    def __init__(self, file):
        self.zero = None
        self.waits = {"down": [], "up": []}
        self.data = {"down": [], "up": []}
        self.delivered = {"down": [], "up": []}
        self.drops = {"down": [], "up": []}
        with open(file) as lines:
            for row in csv.DictReader(lines):
                if self.zero is None:
                    self.zero = int(row["monotonic_ns"]) / 1e9
                self.waits[row["direction"]].append(float(row["wait_ms"]) if row["wait_ms"] else None)
                self.data[row["direction"]].append(int(row["tcp_bytes"]))
                self.delivered[row["direction"]].append(int(row["tcp_delivered_bytes"]))
                self.drops[row["direction"]].append(int(row["drops"]))
        self.waits = {direction: between(waits) for direction, waits in self.waits.items()}

    def step(self, at):
        return round((at - self.zero) / STEP_S)

    def rates(self, direction, half_s=0.25):
        """Data of TCP around each step, in bit/s."""
        data, width = self.delivered[direction], round(half_s / STEP_S)
        sums = list(itertools.accumulate(data, initial=0))
        around = ((max(0, i - width), min(len(data), i + width)) for i in range(len(data)))
        return [8 * (sums[b] - sums[a]) / ((b - a) * STEP_S) for a, b in around]

    def loaded(self, direction):
        """Of each step whether the direction carries a load, beside which probes are little. A radio may be silent for a while."""
        rates = self.rates(direction)
        least = self.least(rates)
        loaded = [rate > least for rate in rates]
        last = None
        for i, is_loaded in enumerate(loaded):
            if is_loaded:
                if last is not None and 1 < i - last <= SILENCE_S / STEP_S:
                    loaded[last:i] = [True] * (i - last)
                last = i
        return loaded

    @staticmethod
    def least(rates):
        return max(LEAST_BPS, LOADED * max(rates, default=0))

    def first_load(self):
        """When the first load began."""
        first = []
        for way in self.data:
            least = self.least(self.rates(way))
            first += itertools.islice((i for i, rate in enumerate(self.rates(way, STEP_S)) if rate > least), 1)
        return self.zero + min(first) * STEP_S

    def windows(self, shortest_s=1.0):
        """When the path was loaded: by stage (down, up, both) a list of begins and ends."""
        found, since, before = {}, 0, None
        states = [STAGES[pair] for pair in zip(self.loaded("down"), self.loaded("up"))]
        for i, state in enumerate([*states, None]):
            if state != before:
                if before and (i - since) * STEP_S >= shortest_s:
                    found.setdefault(before, []).append((self.zero + since * STEP_S, self.zero + i * STEP_S))
                since, before = i, state
        return found

    def delays(self, direction, windows):
        """How long packets that came then waited, in ms; `round` is both directions one after the other."""
        steps = [i for a, b in windows for i in range(max(self.step(a), 0), self.step(b))]
        if direction != "round":
            waits = self.waits[direction]
            return [waits[i] for i in steps if i < len(waits)]
        there, back = self.waits["up"], self.waits["down"]
        sums = []
        for i in steps:
            if i < len(there):
                later = min(i + round(there[i] / 1000 / STEP_S), len(back) - 1)
                sums.append(there[i] + back[later])
        return sums

    def goodput(self, direction, windows):
        """Data of TCP that receivers could then pass on, in bit/s."""
        return self.rate(self.data[direction], windows)

    def delivered_rate(self, direction, windows):
        """Data of TCP that left the path in any order, duplicates included, in bit/s."""
        return self.rate(self.delivered[direction], windows)

    def rate(self, data, windows):
        taken = [sum(data[max(self.step(a), 0):self.step(b)]) for a, b in windows]
        return 8 * sum(taken) / max(sum(b - a for a, b in windows), STEP_S)


STAGES = {(True, False): "down", (False, True): "up", (True, True): "both", (False, False): None}


def between(waits):
    """Fills steps in which no packet came from those before and after: a queue that nobody joins falls at a steady rate."""
    filled, last = [], None
    for i, wait in enumerate(waits):
        if wait is None:
            continue
        if last is None:
            filled += [0.0] * i
        else:
            gap = i - last
            filled += [waits[last] + (wait - waits[last]) * k / gap for k in range(1, gap)]
        filled.append(wait)
        last = i
    return filled + [0.0] * (len(waits) - len(filled))


def quantile(values, share):
    """As `statistics.quantiles` with `inclusive`, of any share; None of nothing."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values):
    return statistics.median(values) if values else None
