"""`unbloat serve` and `unbloat test`, run like the other tools."""

import json
import os
import subprocess
import time
from pathlib import Path

from bed import ROOT
from tools import SERVER_PORTS, Reading, Tool, ways

# DSLReports' scale: where A, B, C, D and F begin, ms. Below B nobody notices, from C on it is called bloated.
SCALE = [(400, "F"), (200, "D"), (60, "C"), (30, "B"), (5, "A"), (float("-inf"), "A+")]
WORDS = {"A+": "clean", "A": "clean", "B": "slight", "C": "bloated", "D": "bloated", "F": "bloated"}
# As docs/test-accuracy.md: a share, and a length that is always allowed.
DELAY = (0.1, 2.0)
# A run that distrusts itself still says what it saw.
UNTRUSTED = 5


def grade(added_ms):
    return next(letter for least, letter in SCALE if added_ms >= least)


def is_near(added_ms, letter):
    """Whether a figure as near to the truth as docs/test-accuracy.md asks for may get this letter."""
    slack = max(DELAY[0] * added_ms, DELAY[1])
    return letter in {grade(added_ms - slack), grade(added_ms), grade(added_ms + slack)}


def is_even(waits_ms):
    """Both directions' queues are as long as each other within the bounds."""
    sizes = sorted(waits_ms)
    return len(sizes) == 2 and sizes[1] - sizes[0] <= max(DELAY[0] * sizes[1], DELAY[1])


class Result:
    """What `unbloat test --json` says."""

    def __init__(self, data):
        self.data = data

    def alone(self, way):
        """The stage that loads this direction alone."""
        return next((load for load in self.data["loads"] if load["load"] == way), None)

    def goodput_bps(self, way):
        load = self.alone(way)
        return load[way]["goodput_bps"] if load else None

    def added_p95_ms(self, way):
        """One way, by datagrams; None where the server has no echo."""
        load = self.alone(way)
        return load[way]["added"]["p95"]["ms"] if load and load[way]["added"] else None

    def added_by_probe_ms(self, way, kind):
        """There and back, the median of probes of that kind."""
        load = self.alone(way)
        return load["added_by_probe"][f"{kind}_ms"] if load else None

    def readings(self):
        begun = self.data["begun_ns"] / 1e9
        for load in self.data["loads"]:
            end = begun + load["begin_s"] + load["lasted_s"]
            window = (end - load["judged_s"], end)
            for way in ways(load["load"]):
                # Without datagrams, the round trips while this direction alone is loaded.
                added = load[way]["added"] or load["added_rtt"]
                p50, p95 = (added[key]["ms"] if added else None for key in ("p50", "p95"))
                rates = load[way]
                yield Reading(load["load"], way, p50, p95, rates["goodput_bps"], window, "wall", rates["delivered_bps"],
                              is_of_both=way == "down" and not load[way]["added"] and self.says_starved())

    def says_starved(self):
        """That a download's delay is of both directions, because its acknowledgments fill the uplink."""
        return any(cause["kind"] == "starved_acks" for cause in self.data["causes"])


class Unbloat(Tool):
    name = "unbloat"
    about = ("`unbloat test` with default options: `added`, `delivered_bps` and `goodput_bps` of its JSON, over the part of each stage that it "
             "evaluates. Rates are TCP payload of load and probes; goodput is at most what was delivered in that time")
    caps_goodput = True

    def __init__(self, program, control="cubic"):
        self.program, self.control = program, control

    def server(self, address, *options):
        at = [f"--{key}={address}:{SERVER_PORTS[name]}" for key, name in (("listen", "unbloat"), ("listen-echo", "irtt"))]
        # Whoever asks for a congestion control gets one that the kernel allows to everybody, or the operator names.
        return [self.program, "serve", "--json", "--allow-congestion-control", self.control, *at, *options]

    def serve(self, bed, *options):
        bed.serve(self.server(bed.address, *options), SERVER_PORTS["unbloat"])

    def trust(self, said):
        """From what the server printed, or is about to, the options that make a client believe it and no other."""
        for _ in range(100):
            lines = [line for line in Path(said).read_text().splitlines() if line.startswith("{")]
            if lines:
                return ["--pin", json.loads(lines[0])["fingerprint"]]
            time.sleep(0.05)
        raise RuntimeError(f"no fingerprint in {said}")

    def trust_served(self, bed):
        """The same of the server that was started there."""
        return self.trust(bed.folder / f"server-{Path(self.program).name}.txt")

    def command(self, target, *options):
        # QUIC has its own, and refuses to be told.
        control = [] if options[-2:] == ("--http", "3") else ["--congestion-control", self.control]
        return [self.program, "test", target, "--json", "--quiet", *control, *options]

    def test(self, bed, target, *options):
        return self.result(bed, bed.client(self.command(target, *options)))

    @staticmethod
    def result(bed, done):
        (bed.folder / "unbloat.json").write_text(done.stdout)
        if done.returncode not in (0, UNTRUSTED):
            raise RuntimeError(f"ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        return Result(json.loads(done.stdout))

    def own(self, bed, *options):
        """Both ends ours."""
        self.serve(bed)
        return self.test(bed, bed.address, *self.trust_served(bed), *options)

    def run(self, bed):
        return list(self.own(bed).readings())


class UnbloatNdt7(Unbloat):
    name = "unbloat-ndt7"
    about = "`unbloat test ndt7://HOST`, so without datagrams, as against M-Lab's servers: added delay by ICMP and TCP handshakes"

    def run(self, bed):
        self.serve(bed)
        trust = self.trust_served(bed)
        return list(self.test(bed, f"ndt7://{bed.address}:{SERVER_PORTS['unbloat']}", *trust).readings())


class UnbloatService(Unbloat):
    """A service of others, by the stand-in of the tests at that service's name."""

    def __init__(self, program, control, target, host, is_slow=False):
        super().__init__(program, control)
        self.target, self.host, self.is_slow = target, host, is_slow
        kind = target if host == target else "file"
        self.name = f"unbloat-{kind}{'-slow' if is_slow else ''}"
        self.about = (f"`unbloat test {target}` against the stand-in of the tests" + ", which answers small requests 300 ms late during downloads" * is_slow)

    def run(self, bed):
        services = os.environ.get("UNBLOAT_SERVICES") or built()
        bed.serve([services, f"{bed.address}:443", *["slow"] * self.is_slow], 443)
        pin = (bed.folder / f"server-{Path(services).name}.txt").read_text().strip()
        hosts = bed.folder / "hosts"
        hosts.write_text("".join(f"{bed.address} {name}\n" for name in (self.host, "speed.cloudflare.com", "mensura.cdn-apple.com")))
        test = [self.program, "test", self.target, "--json", "--quiet", "--pin", pin]
        done = bed.client(["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts, *test])
        return list(self.result(bed, done).readings())


def built():
    subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "unbloat-loadtest", "--example", "services"], cwd=ROOT, check=True)
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "debug/examples/services"


def services(program, control):
    hosts = {"cloudflare": "cloudflare", "apple": "apple", "https://files.example/large.iso": "files.example"}
    return [UnbloatService(program, control, *each, is_slow) for is_slow in (False, True) for each in hosts.items()]
