"""The simulator's own programs for these benches."""

import os
import subprocess
from pathlib import Path

from ns3_wheel import ROOT

NAMES = ["reference_flow", "many_flows"]


def built():
    """Their paths, in the order of `NAMES`."""
    options = [part for name in NAMES for part in ("--example", name)]
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "unbloat-sim", *options], check=True, cwd=ROOT)
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/examples"
    return [folder / name for name in NAMES]
