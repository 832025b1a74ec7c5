"""ns-3 as a program: its wheel from PyPI and reference.cc."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NS3 = Path(os.environ.get("UNBLOAT_BENCH_DATA", ROOT / "bench/data")) / "ns3"
MODULES = ["applications", "core", "internet", "network", "point-to-point", "traffic-control"]


def output(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def program():
    """Installs ns-3 once, builds the reference flow, and says which version it is."""
    python = NS3 / "bin/python"
    if not python.exists():
        output(sys.executable, "-m", "venv", NS3)
        output(python, "-m", "pip", "install", "--quiet", "ns3")
    package = next(NS3.glob("lib/python3.*/site-packages/ns3"))
    core = next(package.glob("lib64/libns3.*-core.so"))
    prefix = core.name.removeprefix("lib").removesuffix("core.so")
    flow, libraries = NS3 / "reference", package / "lib64"
    output("g++", "-std=c++20", "-O2", f"-I{package / 'include'}", HERE / "reference.cc", "-o", flow,
           f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-Wl,--allow-shlib-undefined",
           *[f"-l{prefix}{module}" for module in MODULES])
    return flow, prefix.removeprefix("ns").strip("-")
