//! `unbloat compare` as a user meets it, with whole and with hostile runs.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
    command.args(args).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Folders of runs.
struct Runs(tempfile::TempDir);

impl Runs {
    fn new() -> Runs {
        Runs(tempfile::tempdir().expect("a folder for runs"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// A short simulation of the scenario with a download and a call.
    fn sim(&self, name: &str, more: &[&str]) -> String {
        let (scenario, out) = (root().join("scenarios/bulk-and-call.toml"), self.path(name));
        let scenario = scenario.display().to_string();
        let mut args = vec![
            "sim",
            &scenario,
            "--out",
            &out,
            "-q",
            "--set",
            "scenario.duration=15 s",
        ];
        args.extend(["--set", "scenario.warmup=5 s"]);
        args.extend(more);
        let output = run(&args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        out
    }

    fn copy(&self, of: &str, name: &str) -> PathBuf {
        let to = self.0.path().join(name);
        fs::create_dir(&to).expect("a folder");
        for entry in fs::read_dir(of).expect("a run") {
            let from = entry.expect("a file").path();
            fs::copy(&from, to.join(from.file_name().expect("a name"))).expect("a copy");
        }
        to
    }
}

fn json(args: &[&str]) -> Value {
    let output = run(args);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr)))
}

#[test]
fn a_cured_line_is_better_in_delay_and_the_text_says_so_first() {
    let runs = Runs::new();
    let (a, b) = (
        runs.sim("a", &[]),
        runs.sim("b", &["--set", "link.down.queue=fq_codel"]),
    );
    let output = run(&["compare", &a, &b]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let headline = said.lines().next().expect("a headline");
    assert!(
        headline.starts_with("B is better in ") && headline.contains("delay"),
        "{said}"
    );
    assert!(said.contains("link.down.queue"), "{said}");
    assert!(said.lines().count() <= 60, "one screen: {said}");
    let found = json(&["compare", &a, &b, "--json"]);
    let p95 = found["quantities"].as_array().expect("rows").iter();
    let p95 = p95
        .clone()
        .find(|row| row["metric"] == "queue_delay_p95_ms" && row["subject"] == "down");
    let p95 = p95.expect("the delay");
    assert_eq!(
        (p95["outcome"].as_str(), p95["noise"].as_str()),
        (Some("better"), Some("unknown"))
    );
}

#[test]
fn tolerances_decide_the_exit_code() {
    let runs = Runs::new();
    let (a, b) = (
        runs.sim("a", &[]),
        runs.sim("b", &["--set", "link.down.queue.limit=500 kB"]),
    );
    for (tolerance, code) in [
        ("goodput 5 %", 0),
        ("down.queue_delay_p95 1 %", 4),
        ("down.queue_delay_p95 <= 1 %", 0),
        ("no_such_result 1 %", 4),
        ("goodput lots", 2),
    ] {
        let output = run(&["compare", &a, &b, "--within", tolerance]);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{tolerance}: {}",
            text(&output.stdout)
        );
    }
}

#[test]
fn repeats_tell_noise_from_change() {
    let runs = Runs::new();
    let a = runs.sim("a", &["--repeats", "4"]);
    let b = runs.sim("b", &["--repeats", "4", "--seed", "50"]);
    let found = json(&["compare", &a, &b, "--json"]);
    assert_eq!(found["verdict"]["key"]["worse"], 0, "{}", found["headline"]);
    assert_eq!(found["verdict"]["all"]["unrepeated"], 0);
    let itself = json(&["compare", &a, &a, "--json"]);
    assert_eq!(itself["headline"], "No difference that matters.");
    assert_eq!(itself["conditions"], Value::Array(Vec::new()));
}

#[test]
fn captures_are_compared_by_distribution_and_verdict() {
    let runs = Runs::new();
    let capture = root()
        .join("captures/bloated-link.pcap.zst")
        .display()
        .to_string();
    let out = runs.path("capture");
    assert_eq!(
        run(&["analyze", &capture, "--out", &out]).status.code(),
        Some(0)
    );
    let found = json(&["compare", &out, &out, "--json"]);
    assert_eq!(found["headline"], "No difference that matters.");
    assert!(
        found["verdicts"][0]
            .as_str()
            .is_some_and(|said| said.starts_with("Bufferbloat when downloading"))
    );
    let subjects = found["distributions"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| &row["subject"]);
    assert!(
        subjects.clone().any(|subject| subject == "flows")
            && subjects.clone().any(|subject| subject == "users")
    );
}

#[test]
fn a_model_lies_beside_a_simulation_point_by_point() {
    let runs = Runs::new();
    let (model, sim) = (runs.path("model"), runs.path("sim"));
    let scenario = root()
        .join("scenarios/poisson-queue.toml")
        .display()
        .to_string();
    run(&[
        "model",
        "--rate",
        "10 Mbit/s",
        "--packet",
        "500 B",
        "--utilisation",
        "0.5,0.8,0.95",
        "--buffer",
        "21",
        "--out",
        &model,
    ]);
    run(&[
        "sim",
        &scenario,
        "--set",
        "scenario.duration=20 s",
        "--out",
        &sim,
        "-q",
    ]);
    let found = json(&["compare", &model, &sim, "--json"]);
    let rows = found["quantities"].as_array().expect("rows");
    assert_eq!(
        rows.iter()
            .filter(|row| row["metric"] == "throughput_bps")
            .count(),
        3,
        "{found:#}"
    );
    assert!(rows.iter().all(|row| {
        row["point"]
            .as_str()
            .is_some_and(|point| point.contains("load="))
    }));
    assert!(
        found["cautions"]
            .to_string()
            .contains("matched by their order")
    );
}

#[test]
fn the_folder_holds_a_page_that_fetches_nothing_tables_and_the_document() {
    let runs = Runs::new();
    let hostile = "flow.0.name=<img src=x onerror=alert(1)>";
    let a = runs.sim("a", &["--set", hostile]);
    let out = runs.path("out");
    let output = run(&["compare", &a, &a, "--out", &out, "--within", "goodput 0 %"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = fs::read_to_string(Path::new(&out).join("compare.html")).expect("the page");
    assert!(page.contains("Content-Security-Policy") && page.contains("default-src 'none'"));
    assert!(
        !page.contains("<img") && page.contains("&lt;img"),
        "names are text"
    );
    for part in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!page.contains(part), "{part}");
    }
    let tables = ["quantities", "distributions", "conditions", "judgements"];
    for table in tables {
        assert!(
            Path::new(&out).join(format!("{table}.parquet")).exists(),
            "{table}"
        );
        let csv = run(&["compare", &a, &a, "--format", "csv", "--table", table]);
        assert_eq!(csv.status.code(), Some(0), "{table}");
    }
    let document = fs::read(Path::new(&out).join("compare.json")).expect("the document");
    let document: Value = serde_json::from_slice(&document).expect("JSON");
    assert_eq!(document["format_version"], 1);
    let schema = include_str!("../../../docs/schema/compare.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    let violations = unbloat_testkit::violations(&schema, &document);
    assert_eq!(violations, Vec::<String>::new());
}

/// Every field of the document stands in docs/compare.md.
#[test]
fn the_page_on_comparisons_knows_every_field() {
    let runs = Runs::new();
    let (a, b) = (
        runs.sim("a", &[]),
        runs.sim("b", &["--set", "link.down.queue.limit=500 kB"]),
    );
    let document = json(&["compare", &a, &b, "--json", "--within", "goodput 5 %"]);
    let page = fs::read_to_string(root().join("docs/compare.md")).expect("the page");
    let mut fields = Vec::new();
    collect(&document, &mut fields);
    for field in fields {
        assert!(
            page.contains(&format!("`{field}`")),
            "docs/compare.md lacks `{field}`"
        );
    }
    assert!(page.contains(&format!("Format version {}", document["format_version"])));
}

fn collect(value: &Value, fields: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, below)| {
            fields.push(name.clone());
            collect(below, fields);
        }),
        Value::Array(items) => items.iter().take(3).for_each(|item| collect(item, fields)),
        _ => {}
    }
}

/// It may fail, and then says in one line what to do; it never panics.
fn survives(args: &[&str]) -> String {
    let output = run(args);
    let error = text(&output.stderr);
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{args:?}: {code:?} {error}");
    assert!(!error.contains("panicked"), "{args:?}: {error}");
    error
}

#[test]
fn hostile_folders_give_errors_and_never_a_panic() {
    let runs = Runs::new();
    let a = runs.sim("a", &[]);
    assert!(survives(&["compare", &a, &runs.path("none")]).contains("no run.json"));
    let bare = runs.0.path().join("bare");
    fs::create_dir(&bare).expect("a folder");
    fs::write(bare.join("run.json"), "{\"schema_version\": 1").expect("a file");
    assert!(survives(&["compare", &a, &bare.display().to_string()]).contains("run.json"));
    let newer = runs.copy(&a, "newer");
    let info = fs::read_to_string(newer.join("run.json")).expect("run.json");
    let of_later = info.replace("\"schema_version\": 1", "\"schema_version\": 99");
    assert_ne!(info, of_later);
    fs::write(newer.join("run.json"), of_later).expect("a file");
    assert!(survives(&["compare", &newer.display().to_string(), &a]).contains("newer unbloat"));
    let swapped = runs.copy(&a, "swapped");
    fs::copy(
        swapped.join("averages.parquet"),
        swapped.join("results.parquet"),
    )
    .expect("a copy");
    let wrong = survives(&["compare", &a, &swapped.display().to_string()]);
    assert!(wrong.contains("table results has no column"), "{wrong}");
    let whole = fs::read(Path::new(&a).join("results.parquet")).expect("a table");
    let damaged = runs.copy(&a, "damaged");
    let path = damaged.display().to_string();
    for length in [0, 3, 8, whole.len() / 2, whole.len() - 1] {
        fs::write(damaged.join("results.parquet"), &whole[..length]).expect("a file");
        let error = survives(&["compare", &a, &path]);
        assert!(error.contains("results.parquet"), "{length}: {error}");
    }
    let mut state = 7_u64;
    for _ in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..4 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] ^= (state >> 20) as u8 | 1;
        }
        fs::write(damaged.join("results.parquet"), bytes).expect("a file");
        survives(&["compare", &a, &path]);
    }
}
