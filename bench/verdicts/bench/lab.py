"""Captures out of the virtual lab, kept below target/ by what made them."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import vantage

ROOT = Path(__file__).resolve().parents[3]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
CACHE = Path(os.environ.get("UNBLOAT_VERDICTS_CACHE", TARGET / "verdicts"))
# Counts on when the meaning of what is kept changes.
VERSION = 1
KEPT = ("*.pcap", "*.csv")


def program():
    return os.environ.get("UNBLOAT", str(TARGET / "debug" / "unbloat"))


def key_of(situation):
    """What made it; where this lies on disk does not matter."""
    here = Path(__file__).parent
    beside = [one.replace(str(here), "") for one in situation.beside]
    parts = [str(VERSION), situation.family, str(situation.seed), situation.scenario, *beside]
    if situation.beside:
        parts.append((here / "apps.py").read_text())
    if situation.synthesis:
        parts += [path.read_text() for path in (*sorted(here.glob("synth*.py")), here / "stacks.py")]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def folder_of(situation):
    """Where its captures lie; made if they are not there."""
    key = key_of(situation)
    folder = CACHE / f"{situation.family}-{situation.seed}-{key}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            made = Path(work) / "made"
            made.mkdir()
            if situation.synthesis:
                situation.synthesis(made)
            else:
                run(situation, Path(work), made)
            vantage.write(situation, made)
            made.rename(folder)
    return folder


def run(situation, work, made):
    # Traces of links are named from the scenario's folder.
    scenario = work / "scenario.toml"
    scenario.write_text(situation.scenario.replace("TRACES/", f"{ROOT}/traces/"))
    out = work / "run"
    command = [program(), "lab", "run", "--virtual", "-q", str(scenario), "--capture", "headers", "--out", str(out)]
    for one in situation.beside:
        command += ["--exec", one]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{situation.family} {situation.seed}: {done.stderr.strip()}\n{situation.scenario}\n{situation.beside}")
    for pattern in KEPT:
        for path in out.glob(pattern):
            shutil.move(path, made / path.name)
    scenario_text = situation.scenario + "".join(f"# beside {one}\n" for one in situation.beside)
    (made / "scenario.toml").write_text(scenario_text)
