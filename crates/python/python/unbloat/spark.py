"""Analyses and sweeps on a Spark cluster (Spark 4.1 or newer).

    spark-submit --master spark://host:7077 run_unbloat.py        # a file with: from unbloat.spark import main; main()
    python -m unbloat.spark analyze 's3://caps/*.pcap' --place s3://work/job --out s3://work/run

Spark starts the tasks, repeats those that are lost, and nothing else: tasks are numbers, and packets pass between them as files of the
place (:mod:`unbloat.cluster`), never through the JVM. So executors need memory for Rust beside the JVM's heap:
``spark.executor.memoryOverhead``, at least 1 GB for each core. Every executor needs this package; see docs/cluster.md.
"""

from __future__ import annotations

import argparse
import pickle
import re
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import cluster
from ._core import UnbloatError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkStageInfo, StatusTracker
    from pyspark.sql import SparkSession

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
    import pyarrow as pa

    items = list(items)
    if not items:
        return []

    def tasks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                try:
                    done = work(items[number])
                except Exception as error:
                    raise RuntimeError(f"{_BEGIN}unbloat {step} {number}: {type(error).__name__}: {error}{_END}") from error
                yield pa.RecordBatch.from_pydict({"number": [number], "done": [pickle.dumps(done)]})

    # One task a partition: adaptive execution would merge them.
    adaptive = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        with _Progress(spark, step, len(items)):
            rows = spark.range(0, len(items), 1, len(items)).mapInArrow(tasks, "number long, done binary").collect()
    except Exception as error:
        told = re.search(f"{re.escape(_BEGIN)}(unbloat .*?){re.escape(_END)}", str(error), re.S)
        if told:
            raise TaskError(told.group(1)) from None
        raise
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", adaptive or "true")
    return [pickle.loads(row.done) for row in sorted(rows, key=lambda row: row.number)]


# Around a task's own error, which Spark wraps in stack traces of two languages.
_BEGIN, _END = "[[", "]]"


class _Progress:
    """Prints on standard error how many tasks of a step are done, whenever that changes."""

    def __init__(self, spark: SparkSession, step: str, tasks: int) -> None:
        self._context = spark.sparkContext
        self._step = step
        self._tasks = tasks
        self._group = f"unbloat {step} {uuid.uuid4()}"
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> None:
        self._context.setJobGroup(self._group, f"unbloat {self._step}: {self._tasks} tasks", interruptOnCancel=True)
        self._print(0)
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # None removes it
        if kind is None:
            self._print(self._tasks)
        elif issubclass(kind, KeyboardInterrupt):
            self._context.cancelJobGroup(self._group)

    def _print(self, done: int) -> None:
        print(f"unbloat {self._step}: {done} of {self._tasks}", file=sys.stderr, flush=True)

    def _follow(self) -> None:
        tracker, last = self._context.statusTracker(), 0
        while not self._ended.wait(1.0):
            stages = [stage for job in tracker.getJobIdsForGroup(self._group) for stage in _stages(tracker, job)]
            done = sum(stage.numCompletedTasks for stage in stages)
            if last < done < self._tasks:
                self._print(done)
                last = done


def _stages(tracker: StatusTracker, job: int) -> list[SparkStageInfo]:
    known = tracker.getJobInfo(job)
    stages = [tracker.getStageInfo(stage) for stage in known.stageIds] if known else []
    return [stage for stage in stages if stage]


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
