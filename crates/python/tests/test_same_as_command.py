"""The package writes and says what the command writes and says."""

import hashlib
import json

import pytest
import unbloat
from conftest import CAPTURE, CAPTURES, SCENARIO, command


def hashes(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.glob("*.parquet"))}


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
@pytest.mark.parametrize("threads", [1, 2])
def test_analyze_writes_the_same_tables(capture, threads, tmp_path):
    code, printed, _ = command("analyze", capture, "--out", "command", "--threads", threads, folder=tmp_path)
    assert code == 0
    run = unbloat.analyze(capture, out=tmp_path / "package", threads=threads)
    found = hashes(run.path)
    assert len(found) == len(run.tables) > 10
    assert found == hashes(tmp_path / "command")
    assert str(run.verdict) == printed
    ours, theirs = (json.loads((folder / "run.json").read_text()) for folder in (run.path, tmp_path / "command"))
    assert ours.pop("command")[:2] == ["unbloat", "analyze"] and theirs.pop("command")
    assert ours == theirs
    assert (run.path / "report.html").is_file()


def test_options_have_the_effect_of_the_command(tmp_path):
    words = ["--client-net", "10.0.0.0/8", "--client-net", "192.168.0.0/16", "--bin", "1 ms", "--tables", "all", "--pep-port", "443,80"]
    words += ["--bloat-threshold", "600 ms", "--min-sending-rate", "learn", "--slow-start-ratio", "2", "--max-flows", "1_000"]
    code, printed, _ = command("analyze", CAPTURE, "--out", "command", *words, folder=tmp_path)
    assert code == 0
    run = unbloat.analyze(
        CAPTURE,
        out=tmp_path / "package",
        client_net=["10.0.0.0/8", "192.168.0.0/16"],
        bin="1 ms",
        tables="all",
        pep_port=[443, 80],
        bloat_threshold="600 ms",
        min_sending_rate="learn",
        slow_start_ratio=2,
        max_flows=1000,
    )
    assert hashes(run.path) == hashes(tmp_path / "command")
    assert str(run.verdict) == printed
    assert run.info["options"] == unbloat.open(tmp_path / "command").info["options"]
    # The words in run.json make the same run again.
    again = run.info["command"][1:-2]
    assert command(*again, "--out", "again", folder=tmp_path)[0] == 0
    assert hashes(tmp_path / "again") == hashes(run.path)


def test_a_run_is_opened_by_its_name(scenario, tmp_path, monkeypatch):
    monkeypatch.setenv("UNBLOAT_RUNS", str(tmp_path / "runs"))
    command("sim", scenario, folder=tmp_path)
    assert unbloat.open("latest").info["program"] == "unbloat sim"


def test_simulate_writes_the_same_tables(scenario, tmp_path):
    sets = ["--set", 'link.down.queue.limit=["20 packets", "200 packets"]']
    code, printed, _ = command("sim", scenario, *sets, "--repeats", 2, "--out", "command", folder=tmp_path)
    assert code == 4, "the bound is broken"
    limits = ["20 packets", "200 packets"]
    run = unbloat.sweep(scenario, {"link.down.queue.limit": limits}, repeats=2, out=tmp_path / "package")
    assert hashes(run.path) == hashes(tmp_path / "command") != {}
    assert str(run) == printed
    assert not run.keeps_bounds and len(run.judgements) == 4
    ours, theirs = run.info, unbloat.open(tmp_path / "command").info
    assert {**ours, "command": None} == {**theirs, "command": None}


def test_a_scenario_is_a_file_or_its_text(scenario, tmp_path):
    by_file = unbloat.simulate(scenario, {"link.down.queue": {"kind": "codel"}}, seed=3)
    by_text = unbloat.simulate(SCENARIO, ['link.down.queue={ kind = "codel" }'], seed=3, threads=1)
    assert hashes(by_file.path) == hashes(by_text.path)
    assert len(by_file.queue_series) > 100
    assert by_file.judgements[0].worst[:2] == ("all", "goodput_bps")


def test_compare_writes_the_same_tables(scenario, tmp_path):
    for name in ("droptail", "codel"):
        unbloat.simulate(scenario, {"link.down.queue": name}, out=tmp_path / name)
    a, b = tmp_path / "droptail", tmp_path / "codel"
    words = ["compare", a, b, "--within", "queue_delay_p95 1 %"]
    code, printed, _ = command(*words, "--out", "command", folder=tmp_path)
    assert code == 4
    _, document, _ = command(*words, "--json", folder=tmp_path)
    found = unbloat.compare(a, unbloat.open(b), within="queue_delay_p95 1 %", out=tmp_path / "package")
    assert not found.keeps_tolerances
    assert found.document == json.loads(document)
    assert str(found) == printed
    assert hashes(found.path) == hashes(tmp_path / "command") != {}
    assert found.report().is_file() and found.headline in str(found)


def test_model_runs_in_the_program(tmp_path):
    code, _, _ = command("model", "--rate", "10 Mbit/s", "--utilisation", "0.9,0.95", "--out", "command", folder=tmp_path)
    assert code == 0
    run = unbloat.model(rate="10 Mbit/s", utilisation=[0.9, 0.95])
    assert hashes(run.path) == hashes(tmp_path / "command") != {}
    with pytest.raises(unbloat.UnbloatError, match="invalid value 'x' for '--rate <RATE>'"):
        unbloat.model(rate="x")


def test_lab_runs_the_kernels_tcp(scenario):
    from conftest import needs_root

    needs_root()
    run = unbloat.lab(scenario, {"scenario.duration": "2 s"})
    assert run.info["clock"] == "real" and len(run.results) > 5


def failure(*words, folder):
    code, _, noted = command(*words, folder=folder)
    assert code == 1
    return noted.strip().splitlines()[-1].removeprefix("unbloat: ")


def test_errors_have_the_texts_of_the_command(tmp_path, scenario):
    missing, damaged = tmp_path / "none.pcap", tmp_path / "text.pcap"
    damaged.write_text("this is no capture, whatever its name says")
    for capture in (missing, damaged):
        with pytest.raises(unbloat.CaptureError) as raised:
            unbloat.analyze(capture)
        assert str(raised.value) == failure("analyze", capture, folder=tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    with pytest.raises(unbloat.RunError) as raised:
        unbloat.analyze(CAPTURE, out=tmp_path / "taken")
    assert str(raised.value) == failure("analyze", CAPTURE, "--out", tmp_path / "taken", folder=tmp_path)
    with pytest.raises(unbloat.ScenarioError) as raised:
        unbloat.simulate(scenario, {"link.down.queue": "codle"})
    assert str(raised.value) == failure("sim", scenario, "--set", 'link.down.queue="codle"', folder=tmp_path)
    with pytest.raises(unbloat.ScenarioError) as raised:
        unbloat.simulate(tmp_path / "none.toml")
    assert str(raised.value) == failure("sim", tmp_path / "none.toml", folder=tmp_path)
    with pytest.raises(unbloat.RunError) as raised:
        unbloat.compare(tmp_path, tmp_path)
    assert str(raised.value) == failure("compare", tmp_path, tmp_path, folder=tmp_path)
    with pytest.raises(unbloat.RunError) as raised:
        unbloat.open(tmp_path)
    assert str(raised.value) == failure("report", tmp_path, folder=tmp_path)


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("bloat_threshold", "60", "--bloat-threshold"),
        ("client_net", "10.0.0.0", "--client-net"),
        ("min_sending_rate", "much", "--min-sending-rate"),
        ("threads", 0, "--threads"),
        ("threads", 257, "--threads"),
        ("threads", 70000, "--threads"),
        ("pep_port", -1, "--pep-port"),
        ("max_flows", 0, "--max-flows"),
        ("gtp_port", 70000, "--gtp-port"),
    ],
)
def test_options_are_refused_for_the_reason_of_the_command(option, value, word, tmp_path):
    with pytest.raises(unbloat.OptionError) as raised:
        unbloat.analyze(CAPTURE, **{option: value})
    reason = str(raised.value).removeprefix(f"invalid value '{value}' for {option}: ")
    assert reason != str(raised.value)
    code, _, noted = command("analyze", CAPTURE, f"{word}={value}", folder=tmp_path)
    assert code == 2
    assert reason in noted
