"""htsim as a program: its source at a fixed commit, compiled with htsim.cc."""

import os
from pathlib import Path

from ns3_wheel import HERE, ROOT, output

REPOSITORY = "https://github.com/Broadcom/csg-htsim"
COMMIT = "841d9e7be46bb968eece766aa4b6c044c7799f67"
DATA = Path(os.environ.get("UNBLOAT_BENCH_DATA", ROOT / "bench/data")) / "htsim"
# What its TCP needs of its library.
SOURCES = ["config", "eth_pause_packet", "eventlist", "fairpullqueue", "logfile", "loggers", "mtcp", "ndppacket", "network",
           "pipe", "queue", "queue_lossless", "route", "switch", "tcp", "tcppacket", "trigger"]


def source():
    """The working tree that UNBLOAT_HTSIM names, or a clone of its simulator alone."""
    given = os.environ.get("UNBLOAT_HTSIM")
    if given:
        return Path(given)
    clone = DATA / "source"
    if not clone.exists():
        output("git", "clone", "--quiet", "--no-checkout", "--filter=blob:none", REPOSITORY, clone)
        output("git", "-C", clone, "sparse-checkout", "set", "sim")
        output("git", "-C", clone, "checkout", "--quiet", "--detach", COMMIT)
    return clone


def program():
    """Compiles with the optimization of its own makefile. Also says which commit it is."""
    DATA.mkdir(parents=True, exist_ok=True)
    tree, built = source(), DATA / "many_flows"
    folder = tree / "sim"
    files = [folder / f"{name}.cpp" for name in SOURCES]
    output("g++", "-std=c++17", "-O3", f"-I{folder}", HERE / "htsim.cc", *files, "-o", built)
    return built, output("git", "-C", tree, "rev-parse", "--short", "HEAD").strip()
