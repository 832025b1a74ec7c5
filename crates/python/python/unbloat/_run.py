"""Runs: folders with ``run.json`` and Parquet tables."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._table import Table

if TYPE_CHECKING:
    import os

    from ._verdict import Verdict


class Place:
    """Where a run is written: the folder that the caller names, or a temporary one that lives as long as this object."""

    def __init__(self, out: str | os.PathLike[str] | None) -> None:
        self.is_named = out is not None
        if out is not None:
            self.path = Path(out)
        else:
            import tempfile

            self._folder = tempfile.TemporaryDirectory(prefix="unbloat-", ignore_cleanup_errors=True)
            self.path = Path(self._folder.name) / "run"


class Run:
    """A finished run. Each of its tables is an attribute: ``run.flows``, ``run.rtt``; :attr:`tables` lists them.

    Results of functions without ``out`` are in a temporary folder that is removed with the last reference to the run and its tables.
    """

    def __init__(self, path: str | os.PathLike[str], _keeps: object = None) -> None:
        self._folder = _core.Folder(path)
        self._keeps = _keeps
        self._names = self._folder.tables()

    @property
    def path(self) -> Path:
        """The run's folder."""
        return Path(self._folder.path)

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        return list(self._names)

    def table(self, name: str) -> Table:
        """The table with this name; raises :class:`RunError` if the run has none."""
        core = self._folder.table(name)
        return Table(core, self.path / core.file, self._keeps)

    def __getattr__(self, name: str) -> Table:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(f"the run has no table {name}; its tables are {', '.join(self.__dict__.get('_names', ()))}")
        return self.table(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._names]

    @cached_property
    def info(self) -> dict[str, Any]:
        """What ``run.json`` says of the run: inputs, options, status, what was skipped."""
        import json

        info: dict[str, Any] = json.loads(self._folder.info())
        return info

    @property
    def start(self) -> Any:
        """Time 0 of the run's tables as a ``pandas.Timestamp`` (needs pandas); ``None`` in virtual time."""
        import pandas

        begun = self.info["trace_start"]
        return None if begun is None else pandas.Timestamp(begun["ns"], unit="ns", tz="UTC")

    def plot(self, ax: Any = None) -> Any:
        """Draw round trips over time (needs matplotlib and pandas): of a capture by side, of a test by stage, or of a simulation by flow; returns the axes."""
        from matplotlib import pyplot

        drawn = {"rtt": ("rtt_ms", "side"), "echoes": ("rtt_ms", "stage"), "window_series": ("srtt_ms", "flow")}
        name = next((name for name in drawn if name in self._names), None)
        if name is None:
            raise _core.RunError("the run has no round trips over time")
        value, series = drawn[name]
        ax = ax or pyplot.subplots()[1]
        for label, rows in self.table(name).to_pandas().groupby(series):
            ax.plot(rows["time_ns"].dt.total_seconds(), rows[value], ".", markersize=2, label=f"{series} {label}")
        ax.set(xlabel="time (s)", ylabel=f"{value.removesuffix('_ms')} (ms)", ylim=(0, None))
        ax.legend()
        return ax

    @cached_property
    def verdict(self) -> Verdict | None:
        """The verdict on a capture; ``None`` for runs that have none."""
        from ._verdict import verdict_of

        document = self.info["verdict"]
        # The verdict on a test is of another kind.
        is_of_capture = isinstance(document, dict) and "directions" in document and "threshold_ms" in document
        return verdict_of(document) if is_of_capture else None

    @cached_property
    def _database(self) -> Any:
        import duckdb

        database = duckdb.connect()
        for name in self._names:
            file = str(self.table(name).path).replace("'", "''")
            database.execute(f"CREATE VIEW \"{name}\" AS SELECT * FROM read_parquet('{file}')")
        return database

    def sql(self, query: str) -> Any:
        """Run a query over the run's tables with DuckDB (needs duckdb); returns a ``duckdb.DuckDBPyRelation``.

        >>> run.sql("select server, sum(payload_down_bytes) from flows group by all")
        """
        return self._database.sql(query)

    def report(self) -> Path:
        """The HTML report of the run; drawn if there is none yet."""
        file = self.path / "report.html"
        if not file.exists():
            _core.write_report(self.path)
        return file

    def __repr__(self) -> str:
        return f"<unbloat.{type(self).__name__} {self.path}: {self.info['program']}, {len(self._names)} tables>"

    def __str__(self) -> str:
        return repr(self) if self.verdict is None else str(self.verdict)

    def _repr_html_(self) -> str:
        """For notebooks: the text, and the headline numbers."""
        from html import escape

        return f"<pre>{escape(str(self))}</pre>" + self._headlines()

    def _headlines(self) -> str:
        from html import escape

        rows = [(escape(name), f"{value:g}", escape(unit)) for name, value, unit in self._folder.headlines()]
        cells = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<table><tr><th>metric</th><th>value</th><th>unit</th></tr>{cells}</table>" if rows else ""


def open(folder: str | os.PathLike[str]) -> Run:
    """Open a finished run: its folder, its name in the folder of runs, or ``"latest"``, as in the command; raises :class:`RunError` if it has no ``run.json``."""
    return Run(folder)
