"""The tools that measure latency under load: how each is run on a bed, and what it says, in the terms of the comparison.

A tool gives Readings: of a stage (which directions were loaded) and a direction (`round` where it cannot tell them apart), the delay
that load added, in ms, goodput (in order) and delivered rate (in any order), in bit/s; None is what it does not say. `window` is when it measured, in seconds of `clock`, if it
says so: `monotonic` or `wall`, or `first`, which is zero when the first load began. Else the truth is taken for as long as the path was
loaded that way."""

import gzip
import json
import re
from dataclasses import dataclass

from bed import median, peer, quantile

SERVER_PORTS = {"crusader": 35481, "networkqualityd": 4043, "irtt": 2112, "netserver": 12865, "unbloat": 4043}
LOAD_S = 10


@dataclass
class Reading:
    stage: str
    direction: str
    p50_ms: float | None = None
    p95_ms: float | None = None
    goodput_bps: float | None = None
    window: tuple | None = None
    clock: str = "monotonic"
    delivered_bps: float | None = None
    # The tool says that it cannot tell the loaded direction's delay from the other's: the truth is that of both.
    is_of_both: bool = False


class Tool:
    name = ""
    # What its numbers are, for the document.
    about = ""
    # Its goodput never holds what had come before it measured and was read then.
    caps_goodput = False
    needs = ()

    def missing(self):
        return [name for name in self.needs if peer(name) is None]

    def run(self, bed):
        """Runs it, and gives its Readings."""
        raise NotImplementedError


def checked(done):
    if done.returncode != 0:
        raise RuntimeError(f"ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


class Crusader(Tool):
    name = "crusader"
    about = ("its raw pings during each load minus their median before the first load; goodput as printed. Its own headline is the "
             "highest mean over 400 ms, a different quantity")
    needs = ("crusader",)

    def run(self, bed):
        bed.serve([peer("crusader"), "serve"], SERVER_PORTS["crusader"])
        said = checked(bed.client([peer("crusader"), "test", bed.address, "--load-duration", LOAD_S, "--grace-duration", "3",
                                   "--out-name", "test"]))
        raw = next((bed.folder / "crusader-results").glob("*.crr"))
        checked(bed.client([peer("crusader"), "export", "--force", "--output", bed.folder / "crusader.json", raw]))
        data = json.loads((bed.folder / "crusader.json").read_text())
        pings = [(seconds(ping["sent"]), ping["latency"]) for ping in data["pings"]]
        pings = [(at, split(latency)) for at, latency in pings if latency and latency.get("total")]
        loads_at = min(seconds(test["start"]) for test in data["test_data"])
        idle = {way: median([delays[way] for at, delays in pings if at < loads_at - 0.2]) for way in ("down", "up")}
        rates = [[float(part) * 1e6 for part in re.findall(r"([\d.]+) Mbps", line)]
                 for line in said.splitlines() if "Throughput:" in line]
        readings = []
        for test, rate in zip(data["test_data"], rates):
            begin, end = seconds(test["start"]), seconds(test["end"])
            stage = {"Download": "down", "Upload": "up"}.get(test["kind"], "both")
            for way in ways(stage):
                added = [delays[way] - idle[way] for at, delays in pings if begin <= at < end]
                goodput = rate[0] if stage != "both" else rate[1:][way == "up"]
                readings.append(Reading(stage, way, quantile(added, 0.5), quantile(added, 0.95), goodput,
                                        (begin - loads_at, end - loads_at), "first"))
        return readings


def seconds(duration):
    return duration["secs"] + duration["nanos"] / 1e9


def split(latency):
    total, up = 1000 * seconds(latency["total"]), 1000 * seconds(latency["up"])
    return {"up": up, "down": total - up}


def ways(stage):
    return ["down", "up"] if stage == "both" else [stage]


class Flent(Tool):
    name = "flent rrul_be + irtt"
    about = ("irtt's one-way delays during the load minus their median before it (this requires a common clock, which client and server share here); "
             "goodput as flent's mean of the sums, which for uploads counts what the sender sent")
    needs = ("flent", "netperf", "netserver", "irtt")

    def run(self, bed):
        bed.serve([peer("netserver"), "-D", "-L", f"{bed.address},4"], SERVER_PORTS["netserver"])
        bed.serve([peer("irtt"), "server", "-b", f"{bed.address}:{SERVER_PORTS['irtt']}"])
        checked(bed.client([peer("flent"), "rrul_be", "-H", bed.address, "-l", LOAD_S, "-d", "3", "-s", "0.05", "-D", bed.folder,
                            "-o", bed.folder / "flent.png"]))
        data = json.loads(gzip.open(next(bed.folder.glob("rrul_be-*.flent.gz"))).read())
        raw = next(values for name, values in data["raw_values"].items()
                   if name.startswith("Ping (ms) UDP") and values and "owd_up" in values[0])
        start = min(sample["t"] for sample in raw)
        idle = [sample for sample in raw if sample["t"] < start + 2.5]
        # When its uploads sent.
        sent = [sample["t"] for name, values in data["raw_values"].items() if "upload" in name for sample in values]
        begin, end = min(sent), min(sent) + LOAD_S
        busy = [sample for sample in raw if begin <= sample["t"] < end]
        readings = []
        for way in ways("both"):
            base = median([sample[f"owd_{way}"] for sample in idle])
            added = [sample[f"owd_{way}"] - base for sample in busy if sample.get(f"owd_{way}") is not None]
            series = data["results"].get(f"TCP {way}load sum", [])
            series = [value for value in series if value is not None]
            rate = 1e6 * sum(series) / len(series) if series else None
            readings.append(Reading("both", way, quantile(added, 0.5), quantile(added, 0.95), rate, (begin, end), "wall"))
        return readings


class RpmTool(Tool):
    """A client of a responsiveness server: the delay of a round trip, down first, then up."""

    def serve(self, bed):
        bed.serve([peer("networkqualityd"), "--create-cert", "--public-name", bed.address, "--listen-addr", bed.address],
                  SERVER_PORTS["networkqualityd"])
        return f"https://{bed.address}:{SERVER_PORTS['networkqualityd']}/.well-known/nq"


class GoResponsiveness(RpmTool):
    name = "goresponsiveness"
    about = ("60,000 / RPM of each direction minus the idle round trip of the path, because it reports no delays: the trimmed mean for p50, "
             "\"P90\" for p95; goodput as printed. Server: networkqualityd")
    needs = ("networkQuality", "networkqualityd")

    def run(self, bed):
        url = self.serve(bed)
        said = checked(bed.client([peer("networkQuality"), "-url", url]))
        readings = []
        for stage, label in (("down", "Download:"), ("up", "Upload:")):
            part = said.split(label, 1)[1].split("========", 1)[0] if label in said else ""
            rate = re.search(r"Throughput: ([\d.]+) ([KMG]?)bps", part)
            scale = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}
            found = [number(re.search(pattern, part)) for pattern in (r"RPM: +([\d.]+) \(Single", r"RPM: +([\d.]+) \(P90")]
            p50, p95 = [60_000 / rpm - bed.idle_ms if rpm else None for rpm in found]
            readings.append(Reading(stage, "round", p50, p95, float(rate[1]) * scale[rate[2]] if rate else None))
        return readings


def number(found):
    return float(found[1]) if found else None


class Mach(RpmTool):
    name = "mach"
    about = ("`loaded_latency_ms` (median of the probes on load connections) minus `unloaded_latency_ms`; it reports no p95. Server: "
             "networkqualityd")
    needs = ("mach", "networkqualityd")

    def run(self, bed):
        url = self.serve(bed)
        said = checked(bed.client([peer("mach"), "rpm", "-c", url, "--insecure", "--disable-aim-scores"]))
        data = json.loads(re.search(r"^\{.*^\}", said, re.DOTALL | re.MULTILINE)[0])
        readings = []
        for stage, part in (("down", data["download"]), ("up", data["upload"])):
            added = part["loaded_latency_ms"] - data["unloaded_latency_ms"]
            readings.append(Reading(stage, "round", added, None, part["throughput"]))
        return readings


PEERS = [Crusader(), Flent(), GoResponsiveness(), Mach()]
