"""The best rule that one could make of other tools' figures: tcptrace's, tshark's, and round trips by timestamps as pping takes them.

None of them has a verdict. For each tool one threshold of added delay (which of its statistics, how much) and one of bytes in
flight are fitted on tuning seeds, for the most right words; a direction is called bloated if a flow's data in it exceed both.
"""

import csv
import io
import json
import os
import struct
import subprocess
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from . import pcap

CLIENT_NETS = ("10.45.", "198.51.")
LEAST_SAMPLES = 5
ADDED_MS = (5, 10, 20, 30, 40, 50, 60, 80, 100, 125, 150, 200, 250, 300, 400)
IN_FLIGHT = (0, 3_000, 10_000, 20_000, 40_000, 60_000, 80_000, 120_000, 160_000)


def way_of(source):
    return "up" if source.startswith(CLIENT_NETS) else "down"


def tcptrace(path):
    """By flow and direction of the data: RTT min, avg, max, samples, most bytes in flight."""
    command = ["tcptrace", "-l", "-r", "-W", "-n", "--csv", str(path)]
    text = subprocess.run(command, capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    rows = []
    for row in csv.DictReader(io.StringIO("\n".join(lines))):
        row = {key: (value or "").strip() for key, value in row.items() if key}
        for side, source in (("a2b", row["host_a"]), ("b2a", row["host_b"])):
            stats = {name: number(row.get(f"RTT_{name}_{side}")) for name in ("min", "avg", "max")}
            rows.append({
                "way": way_of(source), "n": number(row.get(f"RTT_samples_{side}")), "in_flight": number(row.get(f"max_owin_{side}")),
                "added": {"avg": stats["avg"] - stats["min"], "max": stats["max"] - stats["min"]},
            })
    return rows


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return 0.0


def tshark(path):
    fields = ["tcp.stream", "ip.src", "tcp.analysis.ack_rtt", "tcp.analysis.bytes_in_flight"]
    command = ["tshark", "-r", str(path), "-T", "fields", "-E", "separator=;", "-E", "occurrence=l"]
    for field in fields:
        command += ["-e", field]
    text = subprocess.run(command, capture_output=True, text=True).stdout
    rtts, in_flight = defaultdict(list), defaultdict(float)
    for line in text.splitlines():
        stream, source, rtt, held = (line.split(";") + [""] * 4)[:4]
        if rtt:
            # An ACK's round trip is that of data of the other side.
            rtts[stream, "down" if way_of(source) == "up" else "up"].append(float(rtt) * 1e3)
        if held:
            key = stream, way_of(source)
            in_flight[key] = max(in_flight[key], float(held))
    return spreads(rtts, in_flight)


def pping(path):
    """The first packet with a TSval, until the first that echoes it: the round trip beyond the capture point."""
    first, rtts = {}, defaultdict(list)
    for one in pcap.read(path):
        found = timestamps(one)
        if not found:
            continue
        value, echo = found
        flow, back = (one.source, one.destination), (one.destination, one.source)
        first.setdefault((flow, value), one.at_ns)
        sent = first.get((back, echo))
        if sent:
            rtts[back, way_of(back[0][0])].append((one.at_ns - sent) / 1e6)
            first[back, echo] = 0
    return spreads(rtts, {})


def timestamps(packet):
    data = packet.data
    if packet.protocol != pcap.TCP or len(data) < 40:
        return None
    start = (data[0] & 15) * 4
    at, end = start + 20, min(start + (data[start + 12] >> 4) * 4, len(data))
    while at + 10 <= end:
        if data[at] == 8:
            return struct.unpack_from(">II", data, at + 2)
        at += 1 if data[at] <= 1 else max(data[at + 1], 2)
    return None


def spreads(rtts, in_flight):
    rows = []
    for (flow, way), some in rtts.items():
        some.sort()
        at = {name: some[int(share * (len(some) - 1))] for name, share in (("p50", 0.5), ("p95", 0.95), ("max", 1.0))}
        rows.append({
            "way": way, "n": len(some), "in_flight": in_flight.get((flow, way), 0.0),
            "added": {name: value - some[0] for name, value in at.items()} | {"avg": sum(some) / len(some) - some[0]},
        })
    return rows


TOOLS = {"tcptrace": tcptrace, "tshark": tshark, "pping-like": pping}


def figures(tool, cases):
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(kept, [(tool, Path(case["file"])) for case in cases], chunksize=8))


def kept(work):
    """What a tool says of a capture, kept beside it."""
    tool, path = work
    beside = path.with_suffix(f".{tool}.json")
    if not beside.exists():
        beside.write_text(json.dumps(TOOLS[tool](path)))
    return json.loads(beside.read_text())


def said(rows, rule):
    """As a verdict."""
    stat, added, held = rule
    judged = [row for row in rows if row["n"] >= LEAST_SAMPLES]
    ways = {row["way"] for row in judged if row["added"].get(stat, 0) >= added and row["in_flight"] >= held}
    kind = "bloated" if ways else "clean" if judged else "cannot_tell"
    directions = {
        way: {"kind": "bloated" if way in ways else kind if kind != "bloated" else "clean", "fillers": [], "unseen": False, "other": []}
        for way in ("down", "up")
    }
    return {"kind": kind, "confidence": None, "directions": directions}


def fitted(cases, found):
    """What is right most often about whether there is bufferbloat, where it shows: a false alarm and a false all-clear cost alike."""
    sides = [case["label"]["kind"] == "bloated" for case in cases]
    counts = [
        any(way["visible"] in ("full", "side") for way in case["label"]["directions"].values()) and case["label"]["kind"] != "slight"
        for case in cases
    ]
    stats = sorted({stat for rows in found for row in rows for stat in row["added"]})

    def right(rule):
        return sum((said(rows, rule)["kind"] == "bloated") == side for rows, side, some in zip(found, sides, counts) if some)

    return max(((stat, added, held) for stat in stats for added in ADDED_MS for held in IN_FLIGHT), key=right)
