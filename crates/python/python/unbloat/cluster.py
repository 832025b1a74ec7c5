"""``unbloat cluster``: analyse captures that are too many for one machine, in steps that many machines share.

    >>> from unbloat import cluster
    >>> cluster.index("/shared/job", "caps/*.pcap")
    >>> plan = cluster.plan("/shared/job", slices=64, buckets=64)
    >>> for n in range(plan.slices): cluster.deal("/shared/job", n)      # on any machine, in any order
    >>> for n in range(plan.buckets): cluster.shard("/shared/job", n)    # the same
    >>> run = cluster.merge("/shared/job")

A place is a folder that all machines share, or an address such as ``s3://bucket/folder``. Every step may be repeated; one that was done
does nothing. The run is the one that :func:`unbloat.analyze` makes of the same captures, with the same tables, byte for byte.
:mod:`unbloat.spark` runs the steps on a Spark cluster.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from . import _core
from ._analyze import texts
from ._run import Place, Run


class Indexed(NamedTuple):
    """A capture that was read once."""

    capture: str
    packets: int
    damage: tuple[str, ...]
    """A sentence for each place at which it is cut or corrupt."""


class Plan(NamedTuple):
    """How a trace is cut."""

    captures: int
    """Captures that hold packets."""
    packets: int
    slices: int
    """Parts of the time, numbered from 0."""
    buckets: int
    """Parts of the clients, numbered from 0."""


def expand(*captures: str | os.PathLike[str]) -> list[str]:
    """The captures that names and patterns stand for.

    :raises CaptureError: A pattern matches nothing.
    """
    return _core.cluster_expand([os.fspath(capture) for capture in captures])


def index(
    place: str | os.PathLike[str],
    *captures: str | os.PathLike[str],
    client_net: str | Sequence[str] | None = None,
    gtp_port: int | Sequence[int] | None = None,
) -> list[Indexed]:
    """Read captures once and store what the other steps need to know of them.

    Parameters are those of :func:`unbloat.analyze`. All calls for one place must have the same.

    :raises CaptureError: A capture is missing or cannot be read.
    :raises ClusterError: The place cannot be used.
    """
    options = texts({"client_net": client_net, "gtp_port": gtp_port})
    indexed = _core.cluster_index(os.fspath(place), [os.fspath(one) for one in captures], options)
    return [Indexed(capture, packets, tuple(damage)) for capture, packets, damage in indexed]


def plan(
    place: str | os.PathLike[str],
    *,
    slices: int | None = None,
    buckets: int | None = None,
    **options: object,
) -> Plan:
    """Cut the trace of all indexed captures into slices of time and buckets of clients.

    :param slices: Number of slices (default: one for each 4 million packets).
    :param buckets: Number of buckets (default: as many as slices, at most 64).
    :param options: Parameters of the analysis, as for :func:`unbloat.analyze`.
    :raises ClusterError: The place has another plan already.
    """
    return Plan(*_core.cluster_plan(os.fspath(place), slices, buckets, texts(options)))


def deal(place: str | os.PathLike[str], slice: int) -> int:
    """Parse a slice and deal its packets to the buckets of their clients. Returns the number of packets."""
    return _core.cluster_deal(os.fspath(place), slice)


def seal(place: str | os.PathLike[str]) -> list[int]:
    """Check that the slices fit together; :func:`shard` does it if nobody has. Returns the slices that had to be dealt again."""
    return _core.cluster_seal(os.fspath(place))


def shard(place: str | os.PathLike[str], bucket: int) -> None:
    """Analyse the packets of a bucket."""
    _core.cluster_shard(os.fspath(place), bucket)


def merge(place: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Run:
    """Merge the rows of all buckets into a run with verdict, report and tables.

    :param out: Folder for the results, which must not exist; gets the report too. Without it, a temporary folder.
    :raises ClusterError: A bucket is missing, or a file of the place is damaged.
    """
    words = ["unbloat", "cluster", "merge", os.fspath(place)]
    run = Place(out)
    words += ["--out", str(run.path)] if run.is_named else []
    _core.cluster_merge(os.fspath(place), run.path, run.is_named, words)
    return Run(run.path, run)


def merge_to(place: str | os.PathLike[str], out: str) -> None:
    """As :func:`merge`, to a folder or to an address such as ``s3://bucket/run``, which no machine opens as a run."""
    words = ["unbloat", "cluster", "merge", os.fspath(place), "--out", out]
    _core.cluster_merge(os.fspath(place), out, True, words)
