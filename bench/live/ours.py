"""`unbloat serve` and `unbloat test`, run like the other tools."""

import json
import time
from pathlib import Path

from tools import SERVER_PORTS, Reading, Tool, ways

# A run that distrusts itself still says what it saw.
UNTRUSTED = 5


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
                yield Reading(load["load"], way, p50, p95, rates["goodput_bps"], window, "wall", rates["delivered_bps"])


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
        done = bed.client(self.command(target, *options))
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
