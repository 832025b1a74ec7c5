"""The packages that the benches need: `tools/install bench` puts them into a Python environment of their own."""

import importlib.util
import logging
import os
import sys
from pathlib import Path

OWN = Path(__file__).resolve().parents[2] / "target/bench-python/bin/python"


def with_packages():
    """Goes on in the environment that has them, if this one has not."""
    # Broken packets and connections are what this is about.
    for name in ("quic", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if importlib.util.find_spec("aioquic"):
        return
    if not OWN.exists() or os.environ.get("UNBLOAT_BENCH_PYTHON"):
        raise SystemExit("aioquic is missing: run tools/install bench")
    os.environ["UNBLOAT_BENCH_PYTHON"] = "1"
    os.execv(OWN, [str(OWN), *sys.argv])
