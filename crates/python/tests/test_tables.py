"""Every table arrives in every library, with units and meanings."""

import gc
import inspect
import json

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import unbloat
from conftest import ROOT


def test_every_table_arrives_in_every_library(run):
    assert len(run.tables) > 10
    for name in run.tables:
        table = run.table(name)
        arrow = pyarrow.table(table)
        arrow.validate(full=True)
        assert arrow.equals(pyarrow.parquet.read_table(table.path))
        assert len(table) == arrow.num_rows
        assert table.columns == arrow.column_names
        assert table.to_arrow().equals(arrow)
        frame = table.to_pandas()
        assert isinstance(frame, pandas.DataFrame) and frame.shape == arrow.shape
        assert list(frame.columns) == table.columns
        frame = table.to_polars()
        assert isinstance(frame, polars.DataFrame) and frame.shape == arrow.shape
        assert frame.columns == table.columns
        assert run.sql(f'select count(*) from "{name}"').fetchall() == [(arrow.num_rows,)]
        assert duckdb.sql("select count(*) from arrow").fetchall() == [(arrow.num_rows,)]
    assert run.flows.to_pandas()["flow_id"].tolist() == run.flows.to_polars()["flow_id"].to_list()


def test_times_are_times(run):
    rtt, raw = run.rtt.to_pandas(), run.rtt.to_arrow()
    assert str(rtt["time_ns"].dtype) == "timedelta64[ns]"
    assert rtt["time_ns"].astype("int64").tolist() == raw["time_ns"].to_pylist()
    assert (run.start + rtt["time_ns"])[0].value == run.info["trace_start"]["ns"] + raw["time_ns"][0].as_py()
    lazy = run.rtt.scan()
    assert isinstance(lazy, polars.LazyFrame)
    assert lazy.select(polars.len()).collect().item() == len(run.rtt)


def test_round_trips_are_drawn(run, scenario):
    import matplotlib

    matplotlib.use("agg")
    simulated = unbloat.simulate(scenario)
    for drawn, table in ((run, run.rtt), (simulated, simulated.window_series)):
        ax = drawn.plot()
        points = sum(len(line.get_xdata()) for line in ax.lines)
        assert points == len(table) > 10
        assert 1 < ax.lines[0].get_xdata().max() < 60 and ax.get_xlabel() == "time (s)"
    with pytest.raises(unbloat.RunError, match="no round trips over time"):
        unbloat.compare(simulated, simulated).plot()


def test_the_page_has_the_signatures():
    page = " ".join((ROOT / "docs" / "python.md").read_text().split())
    for function in (unbloat.analyze, unbloat.open, unbloat.simulate, unbloat.sweep, unbloat.compare, unbloat.lab, unbloat.model, unbloat.program):
        signature = inspect.signature(function)
        bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
        said = signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)
        assert f" {function.__name__}{said}" in page


def test_units_and_meanings_arrive(run):
    columns = {column.name: column for column in run.rtt.schema}
    schema = pyarrow.schema(run.rtt)
    assert schema == pyarrow.table(run.rtt).schema
    for field in schema:
        column = columns[field.name]
        assert field.metadata[b"doc"].decode() == column.doc != ""
        assert field.metadata.get(b"unit", b"").decode() == (column.unit or "")
        assert str(field.type) == {"Utf8": "string", "Float64": "double", "Boolean": "bool"}.get(column.type, column.type.lower())
    assert columns["rtt_ms"].unit == "ms" and columns["time_ns"].unit == "ns"
    assert columns["flow_id"].unit is None


def test_a_run_says_what_it_is(run):
    assert run.verdict.kind == "bloated"
    assert run.verdict.sentence in str(run)
    worse = max(run.verdict.down, run.verdict.up, key=lambda one: one.standing_p50_ms or 0)
    assert worse.standing_p50_ms > run.verdict.threshold_ms
    with pytest.raises(AttributeError):
        run.verdict.kind = "clean"
    assert run.info["program"] == "unbloat analyze"
    page = run._repr_html_()
    assert "<pre>" in page and "<td>ms</td>" in page
    report = run.report()
    assert report.is_file() and report == run.report()
    assert "flows" in dir(run)
    with pytest.raises(AttributeError, match="the run has no table flow; its tables are flows"):
        _ = run.flow
    with pytest.raises(unbloat.RunError, match="the run has no table flow; its tables are flows"):
        run.table("flow")


def test_a_temporary_run_lives_as_long_as_a_table_of_it(scenario):
    run = unbloat.simulate(scenario)
    folder, averages = run.path, run.averages
    del run
    gc.collect()
    assert len(averages.to_polars()) == len(averages) > 5
    del averages
    gc.collect()
    assert not folder.exists()


def test_a_million_rows_are_handed_over_without_a_copy(run, tmp_path):
    rows = 1_000_000
    numbers = pyarrow.array(range(rows), pyarrow.uint64())
    given = pyarrow.table({"flow_id": numbers, "rtt_ms": numbers.cast(pyarrow.float64())})
    pyarrow.parquet.write_table(given, tmp_path / "rtt.parquet", compression="zstd")
    document = json.loads((run.path / "run.json").read_text())
    (table,) = (one for one in document["tables"] if one["name"] == "rtt")
    columns = [column for column in table["columns"] if column["name"] in ("flow_id", "rtt_ms")]
    document["tables"] = [{**table, "rows": rows, "columns": columns, "file": "rtt.parquet"}]
    (tmp_path / "run.json").write_text(json.dumps(document))
    before = pyarrow.total_allocated_bytes()
    arrow = pyarrow.table(unbloat.open(tmp_path).rtt)
    # All memory is what the reader decoded into; pyarrow allocated none of it.
    assert pyarrow.total_allocated_bytes() == before
    assert arrow.nbytes >= 16 * rows and arrow.num_rows == rows
    assert arrow.equals(given.cast(arrow.schema))


def test_a_damaged_table_is_an_error_of_the_reader(run, tmp_path):
    import shutil

    folder = shutil.copytree(run.path, tmp_path / "damaged")
    file = folder / "rtt.parquet"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(unbloat.RunError, match="rtt.parquet"):
        pyarrow.table(unbloat.open(folder).rtt)


def test_many_runs_in_one_query(run, scenario, tmp_path):
    for seed in (1, 2, 3):
        unbloat.simulate(scenario, seed=seed, out=tmp_path / f"run-{seed}")
    query = f"select count(distinct filename) from read_parquet('{tmp_path}/run-*/results.parquet', filename=true)"
    assert duckdb.sql(query).fetchall() == [(3,)]
