"""What the tests share: the shipped capture, its run, and the command that the package is compared with."""

import os
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest
import unbloat

ROOT = Path(__file__).resolve().parents[3]
CAPTURE = ROOT / "captures" / "bloated-link.pcap.zst"
CAPTURES = [CAPTURE, *sorted((ROOT / "captures" / "verdicts").glob("*.pcap.zst"))]

SCENARIO = """
[scenario]
duration = "4 s"
seed = 7

[link.down]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", limit = "200 packets" }

[[flow]]
name = "download"
app = "bulk"

[score]
"all.goodput" = ">= 1 Gbit/s"
"""


def command(*words, folder):
    """Runs the package's program; returns exit code, standard output and standard error."""
    ended = subprocess.run(
        [unbloat.program(), *map(str, words)], cwd=folder, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout, ended.stderr


@pytest.fixture(scope="session")
def run():
    return unbloat.analyze(CAPTURE)


@pytest.fixture
def scenario(tmp_path):
    file = tmp_path / "line.toml"
    file.write_text(SCENARIO)
    return file


def missing(reason: str) -> NoReturn:
    """Ends a test that cannot run here: skipped, or failed where all must run."""
    if os.environ.get("UNBLOAT_RUN_ALL"):
        pytest.fail(reason)
    pytest.skip(reason)


def needs_root():
    if os.geteuid() != 0:
        missing("needs root")
