"""Tables of runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from . import _core


class Column(NamedTuple):
    """A column of a table."""

    name: str
    """Name; the suffix is the unit (``_ms``, ``_bps``)."""
    type: str
    """Arrow type."""
    unit: str | None
    """Unit; ``None`` for counts, names and flags."""
    doc: str
    """Meaning."""


class Table:
    """A table of a run. Any library that reads the Arrow PyCapsule interface takes it as it is: ``pyarrow.table(run.flows)``.

    Rows are read from the run's Parquet file when a library asks for them, and handed over without a copy.
    """

    __slots__ = ("_core", "_keeps", "_path")

    def __init__(self, core: _core.Table, path: Path, keeps: object) -> None:
        self._core = core
        self._path = path
        # A temporary run lives as long as its tables.
        self._keeps = keeps

    @property
    def name(self) -> str:
        """Name of the table."""
        return self._core.name

    @property
    def doc(self) -> str:
        """What one row is."""
        return self._core.doc

    @property
    def path(self) -> Path:
        """The Parquet file."""
        return self._path

    @property
    def schema(self) -> tuple[Column, ...]:
        """The columns, with type, unit and meaning."""
        return tuple(Column(*column) for column in self._core.columns())

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.schema]

    def __len__(self) -> int:
        return len(self._core)

    def __arrow_c_schema__(self) -> object:
        """The schema by the Arrow PyCapsule interface. Metadata of the fields: ``doc`` and, if there is one, ``unit``."""
        return self._core.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows by the Arrow PyCapsule interface."""
        return self._core.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """The rows as a ``pyarrow.Table`` (needs pyarrow)."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> Any:
        """The rows as a ``pandas.DataFrame`` (needs pandas and pyarrow). Columns in ns are ``Timedelta``: times since the run's :attr:`~Run.start`, and spans."""
        import pyarrow

        arrow = self.to_arrow()
        for at, column in enumerate(self.schema):
            if column.unit == "ns":
                times = arrow.column(at).cast(pyarrow.int64()).cast(pyarrow.duration("ns"))
                arrow = arrow.set_column(at, column.name, times)
        return arrow.to_pandas()

    def to_polars(self) -> Any:
        """The rows as a ``polars.DataFrame`` (needs polars)."""
        import polars

        return polars.DataFrame(self)

    def scan(self) -> Any:
        """A ``polars.LazyFrame`` (needs polars): reads only what the query needs."""
        import polars

        return polars.scan_parquet(self.path)

    def __repr__(self) -> str:
        return f"<unbloat.Table {self.name}: {len(self)} rows, {len(self.columns)} columns; {self.doc}>"
