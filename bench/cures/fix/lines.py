"""Lines drawn by seeds, and how well `unbloat fix` did on one by the emulator's own record."""

import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "live"))
from bed import Bed, isolate, quantile
from paths import SEND, TAKE

# Seeds below 216 have been looked at, and 279, 374, 1063, 1847 and 2790: thresholds and mechanisms are chosen on these lines. The others are held out.
SEEDS = {"tune": range(24), "held": range(216, 240)}
# What `fix` promises (docs/fix.md): delay that has to fall, and rate that may be paid.
FELT_MS, FALLS, FALLS_BY_MS, PAYS, PAYS_UNSTEADY = 30.0, 0.25, 5.0, 0.15, 0.30
# How far a delay that it names may be from the record, which has no part of what waits in the shaper afterwards.
OFF, OFF_BY_MS = 0.25, {"before": 15.0, "after": 30.0}
WAYS = ("down", "up")


def draw(seed):
    """A line: 0.3 to 200 Mbit/s, 1:1 to 1:100, 5 to 600 ms, up to 3 % loss, and where its queue is or what else happens."""
    rng = random.Random(seed)
    up = 10 ** rng.uniform(-0.52, 1.6)
    down = min(200.0, max(0.3, up * 10 ** rng.uniform(0, 2)))
    rtt = 10 ** rng.uniform(0.7, 2.78)
    loss = rng.choice([0, 0, 0, 0.001, 0.01, 0.03])
    kind = ["plain", "plain", "plain", "radio", "here", "beyond", "others", "stall"][seed // 2 % 8]
    rates, options = {"down": down, "up": up}, ["--seed", str(seed)]
    for way, rate in rates.items():
        buffer = rng.choice([0.0, 60, 150, 300, 600, 1000])
        kilobytes = max(6.0, buffer * rate / 8)
        queue = f'{{ kind = "droptail", limit = "{kilobytes:.0f} kB" }}' if buffer else '{ kind = "fq_codel" }'
        options += ["--set", f"link.{way}.queue={queue}", "--set", f"link.{way}.delay={rtt / 2:.1f}ms", "--set", f"link.{way}.loss={loss}"]
        if kind == "radio":
            spans = ", ".join(f'{{ span = "{rng.uniform(0.5, 4):.2f} s", rate = "{rate * rng.uniform(0.4, 1):.3f} Mbit/s" }}' for _ in range(12))
            options += ["--set", f"link.{way}.steps=[{spans}]", "--set", f"link.{way}.jitter={rng.uniform(1, 12):.1f}ms"]
        else:
            options += [f"--rate-{way}", f"{rate:.3f} Mbit/s"]
    return {"seed": seed, "kind": kind, "down_mbps": down, "up_mbps": up, "rtt_ms": rtt, "loss": loss, "options": options}


# Inside the line: `fix`, with the device looked at before and afterwards.
INSIDE = """
state() { tc qdisc show; ip -o link | cut -d: -f2; nft list ruleset 2>&1; }
[ -z "$4" ] || tc qdisc replace dev path root tbf rate "$4" burst 10kb limit "$5"
state > "$1/was"
"$0" fix $2 --pin "$3" --yes --json --quiet --congestion-control cubic --stages 3s,10s,10s,0s > "$1/said" 2> "$1/errors"
echo $? > "$1/code"
"$0" sqm remove > "$1/removed" 2>&1
state > "$1/is"
"""


def run(unbloat, seed, against):
    """What `fix` said on the line of a seed, against a server of ours or as one of others, and what was so."""
    line = draw(seed)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        with Bed(unbloat, line["options"], folder) as bed:
            words = [unbloat, "serve", "--json", "--listen", "0.0.0.0:0", "--listen-echo", "0.0.0.0:0", "--allow-congestion-control", "cubic"]
            server = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            others = []
            try:
                said = json.loads(server.stdout.readline())
                tls, echo = (f'{bed.address}:{said[key].rsplit(":", 1)[1]}' for key in ("tls", "echo"))
                target = {"serve": f"{tls} --echo {echo}", "ndt7": f"ndt7://{tls}"}[against]
                here = [f"{0.6 * line['up_mbps']:.3f}mbit", f"{max(6.0, 0.03 * line['up_mbps'] * 1e3):.0f}kb"] if line["kind"] == "here" else ["", ""]
                inside = ["sh", "-c", INSIDE, unbloat, folder, target, said["fingerprint"], *here]
                if line["kind"] in ("beyond", "others"):
                    inside = [unbloat, "lab", "shell", "--quiet", "--internet", "--rate-down", "1 Gbit/s", "--rate-up", "1 Gbit/s", "--delay", "0.2 ms", "--", *inside]
                if line["kind"] == "others":
                    others = upload(bed)
                if line["kind"] == "stall":
                    threading.Timer(10 + seed % 5, stall, [server, 1.0 + seed % 4]).start()
                subprocess.run(bed.within(inside), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=1200, check=False,
                               env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "UNBLOAT_RUN": str(folder), "HOME": str(folder)})
            finally:
                for process in [server, *others]:
                    process.kill()
                    process.wait()
        read = lambda name: (folder / name).read_text() if (folder / name).exists() else ""
        return {"line": line, "code": int(read("code") or -1), "said": json.loads(read("said") or "null"), "errors": read("errors")[-2000:],
                "is_restored": read("was") == read("is"), **(truths(bed.truth, json.loads(read("said") or "null")) or {})}


def upload(bed):
    """Another host of the line, which uploads all the time."""
    taker = subprocess.Popen([sys.executable, "-c", SEND.replace("to.sendall(piece)", "to.recv(65536) or exit()"), bed.address, "cubic"], stdout=subprocess.PIPE, text=True)
    port = taker.stdout.readline().strip()
    sender = subprocess.Popen(bed.within([sys.executable, "-c", TAKE.replace("taken.recv(65536)", "taken.send(bytes(65536))"), bed.address, port]))
    return [taker, sender]


def stall(server, seconds):
    server.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    server.send_signal(signal.SIGCONT)


def truths(truth, said):
    """Of each test and direction: what packets waited and what was delivered, by the record, while the test judged it."""
    if not said or "after" not in said:
        return None
    shift = time.monotonic() - time.time()
    found = {}
    for when in ("before", "after"):
        begun = said[when]["begun_ns"] / 1e9 + shift
        for load in said[when]["loads"]:
            if load["load"] in WAYS:
                end = begun + load["begin_s"] + load["lasted_s"]
                window, way = [(end - load["judged_s"], end)], load["load"]
                waits = truth.delays(way, window)
                found.setdefault(when, {})[way] = {"p95_ms": quantile(waits, 0.95), "mean_ms": sum(waits) / max(len(waits), 1), "bps": truth.delivered_rate(way, window)}
    return {"truth": found}


def score(run):
    """Of each point: kept or not; None where it does not arise."""
    points = {"helped": [], "not_worse": [run["is_restored"]], "reason": [], "by_itself": []}
    said, truth, line = run["said"], run.get("truth"), run["line"]
    if not truth:
        return points
    pays = PAYS_UNSTEADY if line["kind"] == "radio" else PAYS
    for way in WAYS:
        was, now = (truth.get(when, {}).get(way) for when in ("before", "after"))
        if not (was and now) or was["p95_ms"] is None or now["p95_ms"] is None:
            continue
        fell = was["p95_ms"] - now["p95_ms"]
        is_less = fell >= max(FALLS_BY_MS, FALLS * was["p95_ms"])
        is_paid = now["bps"] >= (1 - pays - 0.02) * was["bps"]
        is_kept = way in said["kept"]
        # Queues per flow: what the record has is a flow's wait in its own queue, which no shaper in front of it shortens.
        has_own = f'link.{way}.queue={{ kind = "fq_codel" }}' in line["options"]
        if was["mean_ms"] >= FELT_MS and not has_own and line["kind"] not in ("beyond", "others", "here"):
            points["helped"].append(is_kept)
        if is_kept:
            points["not_worse"].append(fell > -max(FALLS_BY_MS, FALLS * was["p95_ms"]) and is_paid)
        sentence = next((text for text in said["judgement"] if text.startswith(f"{way}:")), None)
        if sentence:
            # Without datagrams, the round trips while this direction alone is loaded.
            added = {when: next(load[way]["added"] or load["added_rtt"] for load in said[when]["loads"] if load["load"] == way) for when in ("before", "after")}
            if not all(added.values()):
                continue
            named = {when: one["p95"]["ms"] for when, one in added.items()}
            # The shaper keeps at least a packet, 40 ms at 0.3 Mbit/s.
            off_by = {"before": OFF_BY_MS["before"], "after": OFF_BY_MS["after"] + 12 / line[f"{way}_mbps"]}
            right = [abs(named[when] - truth[when][way]["p95_ms"]) <= max(off_by[when], OFF * truth[when][way]["p95_ms"]) for when in named]
            # The sentence has what others wait at most.
            if has_own:
                right = [named[when] <= truth[when][way]["p95_ms"] + off_by[when] for when in named]
            # A queue in this host is not in the record.
            is_here = line["kind"] == "here" and way == "up"
            points["reason"].append(is_here or all(right))
            if ("not clearly less" in sentence or is_kept) and not has_own and not is_here:
                points["by_itself"].append(is_kept == is_less)
    return points


def table(runs):
    """Markdown: a row for each line, then the points."""
    yield "| seed | kind | down/up, Mbit/s | round trip, ms | loss | code | kept | " + " | ".join(f"{way} p95 before, after, ms" for way in WAYS) + " |"
    yield "|--:|---|---|--:|--:|--:|---|---|---|"
    sums = {}
    for run in runs:
        line, truth, said = run["line"], run.get("truth", {}), run["said"] or {}
        cells = []
        for way in WAYS:
            pair = [truth.get(when, {}).get(way) for when in ("before", "after")]
            cells.append(", ".join(f"{one['p95_ms']:.0f}" if one and one["p95_ms"] is not None else "-" for one in pair))
        yield (f"| {line['seed']} | {line['kind']} | {line['down_mbps']:.1f}/{line['up_mbps']:.2f} | {line['rtt_ms']:.0f} | {line['loss']} | {run['code']} | "
               f"{', '.join(said.get('kept', [])) or '-'} | {' | '.join(cells)} |")
        for point, kept in score(run).items():
            sums.setdefault(point, []).extend(kept)
    yield ""
    yield "; ".join(f"{point} {sum(kept)} of {len(kept)}" for point, kept in sums.items())
