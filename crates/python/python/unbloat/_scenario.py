"""``unbloat sim``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Union

from . import _core
from ._run import Place, Run

Value = Union[str, int, float, bool, Sequence["Value"], Mapping[str, "Value"]]
"""A value of a scenario's key. Quantities are text with a unit, like ``"20 Mbit/s"``."""

Changes = Union[Mapping[str, Value], Iterable[str]]
"""Values by key path, or assignments ``KEY=VALUE`` as the command takes them."""


class Judgement(NamedTuple):
    """What a bound of the scenario's ``[score]`` found in a run."""

    run: int
    """Number of the run, from 0."""
    bound: str
    """The bound as the command prints it."""
    holds: bool
    """Whether it holds."""
    worst: tuple[str, str, float] | None
    """Subject, metric and value of the result that decides; ``None`` if no result has that name."""


class Simulation(Run):
    """Results of a scenario: tables ``averages``, ``results``, ``points``, ``changes`` and series. ``str()`` is the text of the command."""

    def __init__(self, path: str | os.PathLike[str], keeps: object, text: str, judgements: tuple[Judgement, ...]) -> None:
        super().__init__(path, keeps)
        self._text = text
        self._judgements = judgements

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        """One for each run and bound of the scenario's ``[score]``."""
        return self._judgements

    @property
    def keeps_bounds(self) -> bool:
        """Whether all runs keep all bounds."""
        return all(one.holds for one in self._judgements)

    def __str__(self) -> str:
        return self._text


def simulate(
    scenario: str | os.PathLike[str],
    set: Changes | None = None,
    *,
    seed: int | None = None,
    repeats: int | None = None,
    series: bool = False,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Simulation:
    """Simulate a scenario in virtual time. The same seed gives the same results.

    :param scenario: Scenario file, or its TOML text (text with a line break).
    :param set: Values that replace those of the scenario: ``{"link.down.queue": "fq_codel"}`` or ``["link.down.queue=fq_codel"]``. A list
        makes a sweep if the key takes a single value.
    :param seed: Seed of the random numbers; the following repeats use the next numbers (default: the scenario's).
    :param repeats: Number of runs of each point, each with its own seed (default: the scenario's).
    :param series: Keep time series of every run of a sweep, not only of a single run.
    :param threads: Number of threads (default: one per core); does not affect results.
    :param out: Folder for the results, which must not exist; gets the report too. Without it, a temporary folder.
    :raises ScenarioError: The scenario cannot be read or run.
    """
    assignments = _assignments(set)
    text = os.fspath(scenario)
    is_text = "\n" in text
    file = "scenario.toml" if is_text else text
    place = Place(out)
    words = ["unbloat", "sim", file]
    for assignment in assignments:
        words += ["--set", assignment]
    for name, value in (("--seed", seed), ("--repeats", repeats), ("--threads", threads)):
        words += [name, str(value)] if value is not None else []
    words += ["--series"] if series else []
    words += ["--out", str(place.path)] if place.is_named else []
    if repeats is not None and repeats < 1:
        raise _core.OptionError(f"invalid value '{repeats}' for repeats: at least 1 is needed")
    printed, judged = _core.simulate(
        (file, text if is_text else None),
        (assignments, seed, repeats, series),
        threads,
        place.path,
        place.is_named,
        words,
    )
    return Simulation(place.path, place, printed, tuple(Judgement(*one) for one in judged))


def sweep(
    scenario: str | os.PathLike[str],
    over: Mapping[str, Sequence[Value]],
    *,
    set: Mapping[str, Value] | None = None,
    seed: int | None = None,
    repeats: int | None = None,
    series: bool = False,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Simulation:
    """Simulate a scenario at every combination of values: ``sweep("line.toml", {"link.down.queue": ["codel", "cake"]}, repeats=5)``.

    Table ``points`` says which values a point has; the other tables name the point. Parameters are those of :func:`simulate`.

    :param over: Values of each key that varies; the last key varies fastest.
    """
    changes: dict[str, Value] = {**(set or {}), **{key: list(values) for key, values in over.items()}}
    return simulate(scenario, changes, seed=seed, repeats=repeats, series=series, threads=threads, out=out)


def _assignments(changes: Changes | None) -> list[str]:
    if changes is None:
        return []
    if isinstance(changes, str):
        return [changes]
    if isinstance(changes, Mapping):
        return [f"{key}={_toml(value)}" for key, value in changes.items()]
    return list(changes)


def _toml(value: Value) -> str:
    """A value as TOML. JSON's text of a string, a number or a flag is TOML's too."""
    import json

    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, (str, bool, int, float)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Path):
        return json.dumps(str(value), ensure_ascii=False)
    return "[" + ", ".join(_toml(one) for one in value) + "]"
