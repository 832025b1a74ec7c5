"""The program ``unbloat``, which this package brings, and the commands that run in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from . import _core
from ._run import Place, Run
from ._scenario import Changes, _assignments

# Exit codes of a command whose results are complete, though a bound is broken (4) or the measurement is not valid (5).
_WRITTEN = (0, 4, 5)


def program() -> Path:
    """The program ``unbloat`` of this package; raises :class:`UnbloatError` if it is not installed."""
    import shutil
    import sysconfig

    places = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    for place in places:
        file = Path(place) / "unbloat"
        if file.is_file():
            return file
    found = shutil.which("unbloat")
    if found is None:
        raise _core.UnbloatError("cannot find the program unbloat; install the package again")
    return Path(found)


def _written(words: list[str], out: str | os.PathLike[str] | None) -> Run:
    """Runs the program, which writes a run."""
    import subprocess

    place = Place(out)
    command = [str(program()), *words, "--out", str(place.path)]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if ended.returncode not in _WRITTEN:
        text = ended.stderr.decode(errors="replace").strip()
        raise _core.UnbloatError(text.removeprefix("unbloat: ").removeprefix("error: "))
    return Run(place.path, place)


def lab(
    scenario: str | os.PathLike[str],
    set: Changes | None = None,
    *,
    virtual: bool = False,
    seed: int | None = None,
    repeats: int | None = None,
    series: bool = False,
    out: str | os.PathLike[str] | None = None,
) -> Run:
    """Run a scenario with the Linux kernel's TCP, as ``unbloat lab run`` does; needs root, except with ``virtual``.

    :param scenario: Scenario file.
    :param set: As of :func:`simulate`.
    :param virtual: In virtual time, in a Linux kernel of its own (docs/lab.md); else in real time, between network namespaces.
    :param seed: Seed of the random numbers (default: the scenario's).
    :param repeats: Number of runs of each point (default: the scenario's).
    :param series: Keep time series of every run of a sweep.
    :param out: Folder for the results, which must not exist. Without it, a temporary folder.
    :raises UnbloatError: The command failed; the text is its error.
    """
    words = ["lab", "run", os.fspath(scenario), "--quiet"]
    for assignment in _assignments(set):
        words += ["--set", assignment]
    for name, value in (("--seed", seed), ("--repeats", repeats)):
        words += [name, str(value)] if value is not None else []
    words += [name for name, is_set in (("--virtual", virtual), ("--series", series)) if is_set]
    return _written(words, out)


def model(*, out: str | os.PathLike[str] | None = None, **options: str | float | Sequence[str | float]) -> Run:
    """Compute delay and throughput of a bottleneck by queueing theory, as ``unbloat model`` does.

    :param out: Folder for the results, which must not exist. Without it, a temporary folder.
    :param options: Options of ``unbloat model --help`` with ``_`` for ``-``: ``model(rate="10 Mbit/s", utilisation=[0.9, 0.95])``. Of a
        sequence the values are joined by commas.
    :raises UnbloatError: The command failed; the text is its error.
    """
    words = ["model"]
    for name, value in options.items():
        text = str(value) if isinstance(value, (str, int, float)) else ",".join(str(one) for one in value)
        words += ["--" + name.replace("_", "-"), text]
    return _written(words, out)
