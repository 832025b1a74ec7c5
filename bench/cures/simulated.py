"""Runs of `unbloat sim` and their results, for the scripts beside this one."""

import collections
import csv
import io
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench/live"))

from bed import program  # noqa: E402, F401


def runs(unbloat, scenario, repeats, *settings, command=("sim",)):
    """Results by `unbloat sim`, or another command, of each run of a scenario, one of ours by its name or a file, {(subject, metric): value}, in a list for each point of the scenario's sweep."""
    words = [unbloat, *command, ROOT / "scenarios" / f"{scenario}.toml" if isinstance(scenario, str) else scenario, "--repeats", str(repeats), "--format", "csv", "--table", "results", "-q"]
    for setting in settings:
        words += ["--set", setting]
    text = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
    points = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in csv.DictReader(io.StringIO(text)):
        value = float(row["value"]) if row["value"] else None
        points[int(row["point"])][int(row["seed"])][row["subject"], row["metric"]] = value
    return [[run for _, run in sorted(seeds.items())] for _, seeds in sorted(points.items())]


def spread(values, digits=0):
    """Median (least-most)."""
    values = list(values)
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"
