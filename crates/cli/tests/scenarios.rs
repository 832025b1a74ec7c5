//! The examples in `scenarios/`, a few seconds of each.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use unbloat_experiment::scenario::toml::Node;
use unbloat_experiment::scenario::{Experiment, Sweep, build, score};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn examples() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let mut files: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    files.sort();
    files
}

/// What `unbloat sim` reads of a trace.
fn trace(name: &str) -> Result<Vec<u8>, String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(folder().join(name)).map_err(|error| error.to_string())?;
    let read = flate2::read::MultiGzDecoder::new(file).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// The first and the last point of an example's sweep, six seconds of each.
fn short(file: &Path) -> Vec<Experiment> {
    let mut scenario = Node::parse(&std::fs::read_to_string(file).unwrap()).unwrap();
    score::take(&mut scenario).unwrap();
    let mut sweep = Sweep::take(&mut scenario).unwrap();
    for set in ["scenario.duration=6 s", "scenario.warmup=1 s"] {
        sweep.set(&mut scenario, set).unwrap();
    }
    let mut points = vec![0, sweep.points() - 1];
    points.dedup();
    let built = points.into_iter().map(|point| {
        let point = sweep.point(point).apply(&scenario).unwrap();
        build(&point, &trace).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    });
    built.collect()
}

#[test]
fn every_example_runs_and_loses_no_packet_untold() {
    let examples = examples();
    assert!(examples.len() >= 12);
    for file in examples {
        let text = std::fs::read_to_string(&file).unwrap();
        let stem = file.file_stem().unwrap().to_str().unwrap();
        assert!(text.starts_with("# "), "{stem} begins with what it shows");
        for experiment in short(&file) {
            assert_eq!(experiment.name, stem);
            let outcomes = unbloat_sim::run(&experiment);
            assert!(
                unbloat_experiment::outcome::is_conserved(&outcomes),
                "{stem}"
            );
            let delivered: u64 = outcomes
                .paths
                .iter()
                .map(|path| path.delivered_packets)
                .sum();
            assert!(delivered > 100, "{stem}: {delivered} packets");
        }
    }
}

/// Where an example's text tells numbers, bounds hold them.
#[test]
fn bounds_of_examples_hold() {
    let scored = examples().into_iter().filter(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        text.contains("[score]")
    });
    let scored: Vec<PathBuf> = scored.collect();
    assert!(scored.len() >= 2);
    for file in scored {
        let ran = sim(file.to_str().unwrap(), &["--quiet", "--no-run"]);
        let said = String::from_utf8_lossy(&ran.stdout);
        assert_eq!(ran.status.code(), Some(0), "{}: {said}", file.display());
    }
}

fn sim(scenario: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
    command.arg("sim").arg(folder().join(scenario));
    command.args(arguments).output().unwrap()
}

#[test]
fn a_sweep_gives_the_same_bytes_on_one_thread_and_on_two() {
    let results = |threads| {
        let arguments = [
            "--set=scenario.duration=4 s",
            "--set=scenario.warmup=1 s",
            "--format=csv",
            "--table=results",
            "--quiet",
            "--threads",
            threads,
        ];
        let output = sim("buffer-sweep.toml", &arguments);
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let one = results("1");
    assert!(one.len() > 1_000);
    assert_eq!(one, results("2"));
}

#[test]
fn a_fault_is_one_line_with_file_line_key_and_what_is_allowed() {
    let output = sim(
        "buffer-sweep.toml",
        &["--set=link.down.rate=fast", "--no-run"],
    );
    assert!(!output.status.success());
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(message.trim().lines().count(), 1, "{message}");
    for part in ["buffer-sweep.toml", "--set", "link.down.rate", "Mbit/s"] {
        assert!(message.contains(part), "{part} in {message}");
    }
}

#[test]
fn the_report_draws_courses_of_one_run_and_results_of_a_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let report = |scenario: &str, name: &str| {
        let out = folder.path().join(name);
        let place = format!("--out={}", out.display());
        let short = ["--set=scenario.duration=12 s", "--quiet", &place];
        assert!(sim(scenario, &short).status.success());
        std::fs::read_to_string(out.join("report.html")).unwrap()
    };
    let single = report("bulk-and-call.toml", "single");
    for part in [
        "\"sim-backlog\":[",
        "\"sim-srtt\":[",
        "<th scope=\"row\">all goodput</th>",
    ] {
        assert!(single.contains(part), "{part}");
    }
    let sweep = report("buffer-sweep.toml", "sweep");
    for part in [
        "\"sweep-0\":[",
        "\"ticks\":[\"0.25 BDP\",\"1 BDP\",\"8 BDP\"]",
        "\"error\":[",
    ] {
        assert!(sweep.contains(part), "{part}");
    }
    assert!(single.len().max(sweep.len()) < 1_000_000);
}

/// Values of a column of a table in CSV.
fn column(scenario: &str, table: &str, name: &str, more: &[&str]) -> Vec<String> {
    let set = ["--set=scenario.duration=2 s", "--set=scenario.warmup=0 s"];
    let table = format!("--table={table}");
    let output = sim(
        scenario,
        &[&["--format=csv", &table, "--quiet"], &set[..], more].concat(),
    );
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines().map(|line| line.split(','));
    let mut head = lines.next().unwrap();
    let place = head.position(|one| one == name).unwrap();
    lines
        .map(|mut cells| cells.nth(place).unwrap().to_owned())
        .collect()
}

#[test]
fn a_sweep_has_series_of_every_run() {
    for table in ["queue_series", "window_series", "flow_goodput_series"] {
        let rates = "--set=link.down.rate=[\"1 Mbit/s\", \"2 Mbit/s\"]";
        let mut runs = column(
            "bulk-and-call.toml",
            table,
            "run",
            &[rates, "--repeats=2", "--set=scenario.sample_every=200 ms"],
        );
        assert!(runs.is_sorted(), "{table}");
        runs.dedup();
        assert_eq!(runs, ["0", "1", "2", "3"], "{table}");
    }
}

/// The wanted results of a run do not depend on whether its series are kept.
#[test]
fn results_are_the_same_with_and_without_series() {
    let values = |more: &[&str]| column("web-beside-bulk.toml", "averages", "mean", more);
    assert_eq!(values(&["--series"]), values(&[]));
}

#[test]
fn results_can_be_chosen_and_a_wrong_name_is_an_error() {
    let show = |name: &str| {
        let set = ["--set=scenario.duration=2 s", "--set=scenario.warmup=0 s"];
        let arguments = [&["--no-run", "--quiet", "--show", name], &set[..]].concat();
        sim("bulk-and-call.toml", &arguments)
    };
    let chosen = show("call.mos,all.goodput_bps");
    let text = String::from_utf8(chosen.stdout).unwrap();
    assert!(
        text.contains("mos") && !text.contains("jain_index"),
        "{text}"
    );
    let wrong = show("call.moss");
    assert_eq!(wrong.status.code(), Some(1));
    let message = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        message.contains("\"call.moss\"") && message.contains("call.mos,"),
        "{message}"
    );
}
