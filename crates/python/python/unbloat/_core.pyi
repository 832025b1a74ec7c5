"""The native half of the package; private to it."""

import os
from collections.abc import Mapping, Sequence
from typing import final

__all__ = [
    "CaptureError",
    "ClusterError",
    "Folder",
    "OptionError",
    "RunError",
    "ScenarioError",
    "Table",
    "UnbloatError",
    "__version__",
    "analyze",
    "cluster_deal",
    "cluster_expand",
    "cluster_index",
    "cluster_merge",
    "cluster_plan",
    "cluster_seal",
    "cluster_shard",
    "compare",
    "simulate",
    "verdict_text",
    "write_report",
]

__version__: str

class UnbloatError(Exception): ...
class CaptureError(UnbloatError): ...
class ClusterError(UnbloatError): ...
class RunError(UnbloatError): ...
class ScenarioError(UnbloatError): ...
class OptionError(UnbloatError): ...

def analyze(
    inputs: Sequence[str],
    out: str | os.PathLike[str],
    publish: bool,
    command: Sequence[str],
    options: Mapping[str, Sequence[str]],
) -> None: ...
def cluster_expand(inputs: Sequence[str]) -> list[str]: ...
def cluster_index(
    place: str,
    inputs: Sequence[str],
    options: Mapping[str, Sequence[str]],
) -> list[tuple[str, int, list[str]]]: ...
def cluster_plan(
    place: str,
    slices: int | None,
    buckets: int | None,
    options: Mapping[str, Sequence[str]],
) -> tuple[int, int, int, int]: ...
def cluster_deal(place: str, slice: int) -> int: ...
def cluster_seal(place: str) -> list[int]: ...
def cluster_shard(place: str, bucket: int) -> None: ...
def cluster_merge(
    place: str,
    out: str | os.PathLike[str],
    publish: bool,
    command: Sequence[str],
) -> None: ...
def verdict_text(verdict: str, width: int) -> str: ...
def compare(
    a: str | os.PathLike[str],
    b: str | os.PathLike[str],
    within: Sequence[str],
    out: str | os.PathLike[str],
    command: Sequence[str],
) -> tuple[str, str, bool]: ...
def simulate(
    scenario: tuple[str | os.PathLike[str], str | None],
    wish: tuple[Sequence[str], int | None, int | None, bool],
    threads: int | None,
    out: str | os.PathLike[str],
    publish: bool,
    command: Sequence[str],
) -> tuple[str, list[tuple[int, str, bool, tuple[str, str, float] | None]]]: ...
def write_report(path: str | os.PathLike[str]) -> None: ...
@final
class Folder:
    def __new__(cls, path: str | os.PathLike[str]) -> Folder: ...
    @property
    def path(self) -> os.PathLike[str]: ...
    def info(self) -> str: ...
    def headlines(self) -> list[tuple[str, float, str]]: ...
    def tables(self) -> list[str]: ...
    def table(self, name: str) -> Table: ...

@final
class Table:
    @property
    def name(self) -> str: ...
    @property
    def doc(self) -> str: ...
    @property
    def file(self) -> str: ...
    def columns(self) -> list[tuple[str, str, str | None, str]]: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
