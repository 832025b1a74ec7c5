"""The short form: a few captures with their labels, for the tests. Its seeds serve neither tuning nor judging."""

import json
import subprocess
from pathlib import Path

from . import cases, lab

FOLDER = lab.ROOT / "captures" / "verdicts"
SEEDS = 6
# A family, a vantage point, and the word that the label must have.
WANTED = (
    ("droptail_down", "mid", "bloated"),
    ("megabyte_down", "client", "bloated"),
    ("droptail_down", "mid_up", "bloated"),
    ("droptail_up", "client", "bloated"),
    ("droptail_up", "server", "bloated"),
    ("upload_beside_web", "nat", "bloated"),
    ("hidden_down", "mid", "bloated"),
    ("host_queue", "client", "bloated"),
    ("droptail_down_no_timestamps", "client", "bloated"),
    ("fq_codel", "server", "clean"),
    ("bbr_deep", "client", "clean"),
    ("receive_window", "mid", "not_tested"),
    ("keystrokes_delayed_200", "mid", "not_tested"),
    ("think_time", "mid", "not_tested"),
    ("promotion", "mid", "not_tested"),
    ("power_save", "server", "not_tested"),
    ("route_change", "mid", "not_tested"),
)
LEVEL = "-19"


def ship():
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.pcap.zst"):
        old.unlink()
    labels = []
    for family, place, kind in WANTED:
        chosen = smallest(family, place, kind)
        name = f"{family}-{place}.pcap.zst"
        command = ["zstd", "-q", "-f", LEVEL, chosen["file"], "-o", str(FOLDER / name)]
        subprocess.run(command, check=True)
        label = chosen["label"]
        ways = {
            way: {key: one[key] for key in ("kind", "accept", "standing_ms", "visible", "fillers", "unseen_share")}
            for way, one in label["directions"].items()
        }
        labels.append({
            "file": name, "family": family, "seed": chosen["seed"], "vantage": place, "kind": label["kind"],
            "accept": label["accept"], "other": label["other"], "directions": ways,
        })
    (FOLDER / "labels.json").write_text(json.dumps(labels, indent=1) + "\n")
    return sum(path.stat().st_size for path in FOLDER.iterdir())


def smallest(family, place, kind):
    """Of a family's captures that have the word without doubt: the one with the fewest bytes."""
    found = []
    for seed in cases.SEEDS["ship"][:SEEDS]:
        case = next(one for one in cases.prepared(family, seed) if one["vantage"] == place)
        label = case["label"]
        if label["kind"] == kind and is_beyond_doubt(label) and is_of_its_name(family, label):
            found.append((Path(case["file"]).stat().st_size, seed, case))
    return min(found, key=lambda one: one[:2])[2]


def is_beyond_doubt(label):
    shown = [one for one in label["directions"].values() if one["visible"] == "full"]
    return all("slight" not in one["accept"] for one in shown)


def is_of_its_name(family, label):
    """What is called an upload's queue stands on the way up, and nowhere else."""
    name = family.split("_")
    ways = {"up"} if "up" in name or "upload" in name or family == "host_queue" else {"down"}
    return label["kind"] != "bloated" or {way for way, one in label["directions"].items() if one["kind"] == "bloated"} == ways
