"""Ctrl-C, other threads, imports, types, the notebook."""

import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import unbloat
from conftest import CAPTURE, SCENARIO

PACKAGE = Path(__file__).resolve().parents[1]

# Ethernet, IPv4, UDP, 8 bytes of payload.
FRAME = bytes.fromhex("0200000000020200000000010800") + bytes.fromhex(
    "450000240000000040110000" "0a000001" "0a000002" "1388138800100000" + "00" * 8
)


def endless(pipe):
    """A capture that goes on until its reader is gone."""
    pipe.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    number = 0
    try:
        while True:
            block = bytearray()
            for _ in range(10_000):
                at = number * 10
                block += struct.pack("<IIII", at // 1_000_000, at % 1_000_000, len(FRAME), len(FRAME)) + FRAME
                number += 1
            pipe.write(block)
    except BrokenPipeError:
        pass


def interrupted(code, **more):
    """Runs the code, sends SIGINT once it says that it begins, and returns the exit code, standard error and the seconds that it took."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    if process.stdin is not None:
        threading.Thread(target=endless, args=(process.stdin,), daemon=True).start()
    assert process.stdout.readline() == b"begins\n"
    time.sleep(1)
    assert process.poll() is None
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    noted = process.stderr.read().decode()
    return process.wait(timeout=60), noted, time.monotonic() - sent


def test_ctrl_c_stops_an_analysis(tmp_path):
    out = tmp_path / "run"
    code = f"import unbloat; print('begins', flush=True); unbloat.analyze('-', out={str(out)!r})"
    status, noted, took = interrupted(code, stdin=subprocess.PIPE)
    assert noted.rstrip().endswith("KeyboardInterrupt")
    assert status == -signal.SIGINT
    assert took < 30
    info = unbloat.open(out).info
    assert info["status"] == "interrupted" and info["packets"] > 0


def test_ctrl_c_stops_a_sweep(tmp_path):
    sets = {"scenario.duration": "10000 s"}
    code = f"import unbloat; print('begins', flush=True); unbloat.simulate({SCENARIO!r}, {sets!r}, repeats=50)"
    status, noted, took = interrupted(code)
    assert noted.rstrip().endswith("KeyboardInterrupt")
    assert status == -signal.SIGINT
    assert took < 30


def test_other_threads_go_on(tmp_path):
    """They do not if the lock is held: then no other thread runs between begin and end of the work."""
    times = []
    is_over = threading.Event()

    def tick():
        while not is_over.wait(0.002):
            times.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    ticker.start()
    begun = time.monotonic()
    unbloat.analyze(CAPTURE)
    ended = time.monotonic()
    is_over.set()
    ticker.join()
    assert sum(begun < at < ended for at in times) > 10


def test_two_analyses_at_once_give_what_one_gives(run):
    found = []
    threads = [threading.Thread(target=lambda: found.append(unbloat.analyze(CAPTURE).verdict)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [run.verdict] * 2


def test_importing_loads_no_other_library():
    code = (
        "import sys, time; begun = time.perf_counter(); import unbloat; took = time.perf_counter() - begun\n"
        "import json; print(json.dumps([took * 1000, sorted(sys.modules)]))"
    )
    found = [json.loads(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)]
    modules = set(found[0][1])
    assert not modules & {"duckdb", "pandas", "polars", "pyarrow", "numpy", "tempfile", "subprocess"}
    print(f"import unbloat: {min(took for took, _ in found):.1f} ms")


def test_stubs_are_those_of_the_module():
    subprocess.check_call([sys.executable, "-m", "mypy.stubtest", "unbloat._core"], cwd=PACKAGE)


def test_the_package_is_typed():
    subprocess.check_call([sys.executable, "-m", "mypy", "--config-file", "pyproject.toml"], cwd=PACKAGE)


@pytest.mark.parametrize("notebook", sorted((PACKAGE / "examples").glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_run(notebook, tmp_path, monkeypatch):
    import nbclient
    import nbformat

    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    document = nbformat.read(notebook, as_version=4)
    assert all(not cell.get("outputs") for cell in document.cells), "outputs are not stored"
    nbclient.NotebookClient(document, kernel_name="python3", resources={"metadata": {"path": notebook.parent}}).execute()
    shown = [output for cell in document.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert os.listdir(notebook.parent) == [notebook.name]
