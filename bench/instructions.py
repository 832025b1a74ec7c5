"""Counts instructions of a program by callgrind, file by file and function by function. They do not depend on the load of the machine."""

import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path


def counted(command):
    """What the program prints; and its instructions by the file that they come from and the function that they were compiled into."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--cache-sim=no"]
        printed = subprocess.run([*valgrind, *map(str, command)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        annotate = ["callgrind_annotate", "--auto=no", "--threshold=100", out]
        lines = subprocess.run(annotate, check=True, capture_output=True, text=True).stdout.splitlines()
    places = Counter()
    for line in lines:
        found = re.match(r"\s*([\d,]+) \(\s*[\d.]+%\)\s+(\S+?):(.*?)(?: \[[^]]*\])?$", line)
        if found:
            places[found[2], found[3]] += int(found[1].replace(",", ""))
    return printed, places


def by_stage(places, stages, are_ours):
    """Instructions by stage. A stage is a name and a pattern; the first that fits the file counts, where `are_ours` fits the file, or else the first
    that fits the function."""
    sums = Counter()
    for (file, function), count in places.items():
        texts = [file, function] if re.search(are_ours, file) else [function]
        names = (name for text in texts for name, pattern in stages if re.search(pattern, text))
        sums[next(names, "rest")] += count
    return sums
