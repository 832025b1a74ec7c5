"""The steps of a distributed analysis write the run of one machine: by a loop, on an S3 server, and on a Spark cluster whose workers die."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import unbloat
from conftest import CAPTURE, ROOT, missing
from unbloat import cluster


def hashes(run: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in run.glob("*.parquet")}


def split(capture: Path, folder: Path, taps: int) -> list[Path]:
    """The packets of a classic pcap dealt to taps, two files each, that overlap in time."""
    data = capture.read_bytes()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    records, at = [], 24
    while at < len(data):
        end = at + 16 + struct.unpack_from(order + "I", data, at + 8)[0]
        records.append(data[at:end])
        at = end
    files = []
    for tap in range(taps):
        own = records[tap::taps]
        for part, few in enumerate((own[: len(own) // 2], own[len(own) // 2 :])):
            file = folder / f"tap{tap}-{part}.pcap"
            file.write_bytes(data[:24] + b"".join(few))
            files.append(file)
    return files


@pytest.fixture(scope="module")
def taps(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("taps")
    capture = folder / "base.pcap"
    subprocess.run(["zstd", "-dq", ROOT / "bench/base/base.pcap.zst", "-o", capture], check=True)
    return split(capture, folder, 3)


@pytest.fixture(scope="module")
def truth(taps: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("one") / "run"
    unbloat.analyze(*taps, out=out)
    found = hashes(out)
    assert len(found) == 14
    return found


def test_steps_in_any_order_write_the_run_of_one_machine(taps: list[Path], truth: dict[str, str], tmp_path: Path) -> None:
    place = tmp_path / "job"
    for tap in reversed(taps):
        indexed = cluster.index(place, tap)
        assert indexed[0].capture == str(tap) and indexed[0].packets > 50_000
    plan = cluster.plan(place, slices=7, buckets=3)
    assert (plan.captures, plan.slices, plan.buckets, plan.packets) == (6, 7, 3, 303_219)
    assert sum(cluster.deal(place, number) for number in (6, 0, 3, 1, 2, 5, 4)) == plan.packets
    for number in (2, 0, 1):
        cluster.shard(place, number)
    run = cluster.merge(place, tmp_path / "run")
    assert hashes(run.path) == truth
    assert run.info["packets"] == plan.packets


def test_what_is_missing_or_tampered_with_is_named(taps: list[Path], tmp_path: Path) -> None:
    place = tmp_path / "job"
    with pytest.raises(unbloat.ClusterError, match=r"run `unbloat cluster index .*` first"):
        cluster.plan(place)
    cluster.index(place, taps[0])
    cluster.plan(place, slices=2, buckets=2)
    with pytest.raises(unbloat.ClusterError, match="another number of slices"):
        cluster.plan(place, slices=3)
    with pytest.raises(unbloat.ClusterError, match="has no slice 2; the plan has 2"):
        cluster.deal(place, 2)
    cluster.deal(place, 0)
    with pytest.raises(unbloat.ClusterError, match="slice 1 does not exist"):
        cluster.shard(place, 0)
    cluster.deal(place, 1)
    (data,) = [file for file in (place / "dealt/000001").iterdir()]
    changed = bytearray(data.read_bytes())
    changed[len(changed) // 2] ^= 1
    data.write_bytes(changed)
    with pytest.raises(unbloat.ClusterError, match=r"000001.*its digest is not that of its bytes"):
        for bucket in (0, 1):
            cluster.shard(place, bucket)


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def wait_for(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port}")


def test_captures_place_and_run_in_an_object_store(
    taps: list[Path], truth: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        import boto3
        import moto.server  # noqa: F401 (started below as a process)
    except ImportError as error:
        missing(str(error))
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    for name, value in {
        "AWS_ENDPOINT_URL": address,
        "AWS_ENDPOINT": address,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    log = open(tmp_path / "moto.log", "w")
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log)
    try:
        wait_for(port)
        store = boto3.client("s3", endpoint_url=address, region_name="us-east-1")
        store.create_bucket(Bucket="caps")
        for tap in taps:
            store.upload_file(str(tap), "caps", f"in/{tap.name}")
        place = "s3://caps/job"
        assert len(cluster.index(place, "s3://caps/in/*.pcap")) == len(taps)
        with pytest.raises(unbloat.CaptureError, match="no capture matches s3://caps/in/\\*.gz"):
            cluster.index(place, "s3://caps/in/*.gz")
        plan = cluster.plan(place, slices=3, buckets=2)
        for number in range(plan.slices):
            cluster.deal(place, number)
        for number in range(plan.buckets):
            cluster.shard(place, number)
        cluster.merge_to(place, "s3://caps/run")
        for listed in store.list_objects_v2(Bucket="caps", Prefix="run/")["Contents"]:
            store.download_file("caps", listed["Key"], str(tmp_path / Path(listed["Key"]).name))
        assert hashes(tmp_path) == truth
        assert (tmp_path / "report.html").exists() and (tmp_path / "run.json").exists()
    finally:
        server.terminate()
        server.wait()
        log.close()


class Spark:
    """A master and workers of one core each, on this machine."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.home = Path(pyspark.__file__).parent
        self.folder = folder
        self.log = open(folder / "spark.log", "w")
        self.port = free_port()
        self.processes: list[subprocess.Popen[bytes]] = []
        self._start("master.Master", "--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(free_port()))
        wait_for(self.port)

    def _start(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        variables = {**os.environ, "SPARK_HOME": str(self.home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
        command = [str(self.home / "bin/spark-class"), f"org.apache.spark.deploy.{name}", *words]
        process = subprocess.Popen(command, env=variables, stdout=self.log, stderr=self.log, start_new_session=True)
        self.processes.append(process)
        return process

    @property
    def address(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    def worker(self) -> subprocess.Popen[bytes]:
        work = self.folder / f"work{len(self.processes)}"
        words = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--work-dir", str(work), "--webui-port", str(free_port())]
        return self._start("worker.Worker", *words, self.address)

    def stop(self) -> None:
        for process in self.processes:
            kill(process)
        self.log.close()


def kill(process: subprocess.Popen[bytes]) -> None:
    """With its executors: they are of its session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Spark]:
    try:
        import pyspark  # noqa: F401 (is it there?)
    except ImportError as error:
        missing(str(error))
    if not shutil.which("java"):
        missing("needs Java: tools/install test")
    spark = Spark(tmp_path)
    yield spark
    spark.stop()


def session(workers: Spark) -> object:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(workers.address).appName("test").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    return builder.config("spark.executor.memory", "512m").config("spark.executor.cores", "1").getOrCreate()


def test_spark_cluster_whose_workers_are_killed_in_both_passes(
    taps: list[Path], truth: dict[str, str], workers: Spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import unbloat.spark

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    place, tasks = tmp_path / "job", 24
    first, second = workers.worker(), workers.worker()
    killed: dict[str, int] = {}

    def kill_in(step: str, victim: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + 240
        while time.monotonic() < end:
            committed = len(list((place / step).glob("*.json")))
            if committed >= 2:
                kill(victim)
                killed[step] = committed
                workers.worker()
                return
            time.sleep(0.02)

    def killer() -> None:
        kill_in("dealt", first)
        kill_in("rows", second)

    thread = threading.Thread(target=killer)
    spark = session(workers)
    try:
        thread.start()
        unbloat.spark.analyze([str(tap) for tap in taps], str(place), str(tmp_path / "run"), spark=spark, slices=tasks, buckets=tasks)
        thread.join()
        assert hashes(tmp_path / "run") == truth
        assert killed.keys() == {"dealt", "rows"} and all(count < tasks for count in killed.values()), killed
        # A task that fails for good tells its own error.
        with pytest.raises(unbloat.spark.TaskError, match=r"unbloat index 0: CaptureError: .*nothing\.pcap"):
            unbloat.spark.analyze([str(tmp_path / "nothing.pcap")], str(tmp_path / "other"), str(tmp_path / "no"), spark=spark)
        scenario = str(ROOT / "scenarios/bulk-and-call.toml")
        rows = unbloat.spark.sweep(scenario, {"link.down.queue": ["codel", "fq_codel"]}, spark=spark, seeds=[3])
        alone = unbloat.simulate(scenario, {"link.down.queue": "codel"}, seed=3).results
        expected = list(alone.to_pandas()["value"])
        found = [row["value"] for row in rows if row["link.down.queue"] == "codel"]
        assert len(found) > 10 and str(found) == str(expected)
        # The same question over two runs, asked by two engines.
        shutil.copytree(tmp_path / "run", tmp_path / "again")
        question = "select server, count(*) as flows, sum(wire_bytes) as bytes from flows group by server order by server"
        files = [str(tmp_path / name / "flows.parquet") for name in ("run", "again")]
        spark.read.parquet(*files).createOrReplaceTempView("flows")
        answer = [(row.server, row.flows, int(row.bytes)) for row in spark.sql(question).collect()]
        flows = duckdb.read_parquet(files)
        assert answer == duckdb.sql(question).fetchall() and len(answer) > 1 and len(flows.columns) > 20
    finally:
        spark.stop()


def test_an_iceberg_table_takes_the_files_of_runs(tmp_path: Path) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    files = []
    for name in ("a", "b"):
        unbloat.analyze(CAPTURE, out=tmp_path / name)
        files.append(f"file://{tmp_path / name / 'flows.parquet'}")
    catalog = SqlCatalog("runs", uri=f"sqlite:///{tmp_path / 'catalog.db'}", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("unbloat")
    rows = unbloat.open(tmp_path / "a").flows.to_arrow()
    flows = catalog.create_table("unbloat.flows", schema=rows.schema)
    flows.add_files(files)
    found = flows.scan().to_arrow()
    assert found.num_rows == 2 * rows.num_rows > 0
    assert found.column_names == rows.column_names
    assert sum(found["wire_bytes"].to_pylist()) == 2 * sum(rows["wire_bytes"].to_pylist())
