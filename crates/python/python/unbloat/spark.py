"""Analyses and sweeps on a Spark cluster (Spark 4.1 or newer).

    spark-submit --master spark://host:7077 run_unbloat.py        # a file with: from unbloat.spark import main; main()
    python -m unbloat.spark analyze 's3://caps/*.pcap' --place s3://work/job --out s3://work/run

Spark starts the tasks, repeats those that are lost, and nothing else: tasks are numbers, and packets pass between them as files of the
place (:mod:`unbloat.cluster`), never through the JVM. So executors need memory for Rust beside the JVM's heap:
``spark.executor.memoryOverhead``, at least 1 GB for each core. Every executor needs this package; see docs/cluster.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import cluster
from ._core import UnbloatError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

Progress = Callable[[str, int, int], None]
"""Gets the step, how many of its tasks are done, and how many there are."""


def analyze(
    captures: Sequence[str],
    place: str,
    out: str,
    *,
    spark: SparkSession | None = None,
    slices: int | None = None,
    buckets: int | None = None,
    client_net: str | Sequence[str] | None = None,
    gtp_port: int | Sequence[int] | None = None,
    **options: object,
) -> None:
    """Analyse captures on the cluster. The run has the tables of ``unbloat analyze``, byte for byte.

    :param captures: Files that all machines share, or addresses such as ``s3://bucket/*.pcap``.
    :param place: Folder that all machines share, or an address, for the files of the steps; may be deleted afterwards. After a failure,
        the same call goes on from what it holds.
    :param out: Folder or address of the run, which must not exist.
    :param options: Parameters of the analysis, as for :func:`unbloat.analyze`.
    :raises TaskError: A task failed; the text is its own error.
    """
    session = spark or _session()
    names = cluster.expand(*captures)
    _each(session, "index", names, lambda name: cluster.index(place, name, client_net=client_net, gtp_port=gtp_port))
    plan = cluster.plan(place, slices=slices, buckets=buckets, **options)
    _each(session, "deal", range(plan.slices), lambda number: cluster.deal(place, number))
    again = cluster.seal(place)
    if again:
        print(f"unbloat: {len(again)} slices were dealt again on the driver", file=sys.stderr)
    _each(session, "shard", range(plan.buckets), lambda number: cluster.shard(place, number))
    cluster.merge_to(place, out)


def sweep(
    scenario: str,
    over: Mapping[str, Sequence[Any]],
    *,
    spark: SparkSession | None = None,
    seeds: Sequence[int] = (1,),
) -> list[dict[str, Any]]:
    """Simulate a scenario at every combination of values and with every seed, a task each.

    Returns a row for each result: the point's values by key, ``seed``, and the columns of table ``results``. The rows are those of
    :func:`unbloat.simulate` with the same seed.

    :param scenario: TOML text, or a file that all machines share.
    """
    import itertools

    session = spark or _session()
    points = [dict(zip(over, values)) for values in itertools.product(*over.values())]
    tasks = [(point, seed) for point in points for seed in seeds]

    def one(task: tuple[dict[str, Any], int]) -> list[dict[str, Any]]:
        import pyarrow

        from ._scenario import simulate

        point, seed = task
        rows = pyarrow.table(simulate(scenario, point, seed=seed, threads=1).results).to_pylist()
        return [{**point, "seed": seed, **row} for row in rows]

    return [row for rows in _each(session, "simulate", tasks, one) for row in rows]


class TaskError(RuntimeError):
    """A task failed on its last attempt."""


def _session() -> SparkSession:
    from pyspark.sql import SparkSession

    return SparkSession.builder.appName("unbloat").getOrCreate()


def _each(spark: SparkSession, step: str, items: Sequence[Any], work: Callable[[Any], Any]) -> list[Any]:
    """Does the work for each item in a task of its own; returns what came, in the order of the items."""
    import pickle
    import re

    import pyarrow as pa

    items = list(items)
    if not items:
        return []
    described = f"unbloat {step}: {len(items)} tasks"
    spark.sparkContext.setJobDescription(described)
    print(described, file=sys.stderr, flush=True)

    def tasks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                try:
                    done = work(items[number])
                except Exception as error:
                    raise RuntimeError(f"[[unbloat {step} {number}: {type(error).__name__}: {error}]]") from error
                yield pa.RecordBatch.from_pydict({"number": [number], "done": [pickle.dumps(done)]})

    # One task a partition: adaptive execution would merge them.
    adaptive = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        rows = spark.range(0, len(items), 1, len(items)).mapInArrow(tasks, "number long, done binary").collect()
    except Exception as error:
        told = re.search(r"RuntimeError: \[\[(unbloat .*?)\]\]", str(error), re.S)
        if told:
            raise TaskError(told.group(1)) from None
        raise
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", adaptive or "true")
    return [pickle.loads(row.done) for row in sorted(rows, key=lambda row: row.number)]


def main(arguments: Sequence[str] | None = None) -> None:
    """``python -m unbloat.spark``."""
    parser = argparse.ArgumentParser(prog="python -m unbloat.spark", description="Analyse captures on a Spark cluster.")
    steps = parser.add_subparsers(dest="step", required=True)
    run = steps.add_parser("analyze", help="the run that `unbloat analyze` writes")
    run.add_argument("captures", nargs="+", metavar="CAPTURE", help="file, pattern, or address such as s3://bucket/*.pcap")
    run.add_argument("--place", help="folder that all machines share, or an address [default: OUT.job]")
    run.add_argument("--out", required=True, help="folder or address of the run, which must not exist")
    run.add_argument("--slices", type=int, help="parts of the time [default: one for each 4 million packets]")
    run.add_argument("--buckets", type=int, help="parts of the clients [default: as many as slices, at most 64]")
    run.add_argument("--client-net", action="append", help="network whose addresses are clients; may be repeated")
    run.add_argument("--bloat-threshold", help='minimum standing delay that counts as bufferbloat [default: "60 ms"]')
    given = parser.parse_args(arguments)
    try:
        analyze(
            given.captures,
            given.place or given.out.rstrip("/") + ".job",
            given.out,
            slices=given.slices,
            buckets=given.buckets,
            client_net=given.client_net,
            bloat_threshold=given.bloat_threshold,
        )
    except (TaskError, UnbloatError) as error:
        print(f"unbloat: {error}", file=sys.stderr)
        sys.exit(1)
    print(f"tables  {given.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
