//! The command as a user meets it: what it prints where, and how it exits.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn unbloat(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
    command.args(args);
    command
}

fn run(args: &[&str]) -> Output {
    unbloat(args).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The capture that ships with the project.
fn capture() -> String {
    root()
        .join("captures/bloated-link.pcap.zst")
        .display()
        .to_string()
}

#[test]
fn figures_and_summary_are_whole_without_a_run_folder() {
    for table in ["figures", "summary"] {
        let dir = tempfile::tempdir().expect("a folder for the run");
        let out = dir.path().join("run").display().to_string();
        let words = |more: &[&str]| {
            let output = run(&[
                &["analyze", &capture(), "--format", "csv", "--table", table],
                more,
            ]
            .concat());
            text(&output.stdout)
        };
        let alone = words(&["--no-run"]);
        assert!(alone.lines().count() > 40, "{alone}");
        assert_eq!(alone, words(&["--out", &out]), "{table}");
    }
}

#[test]
fn the_shipped_capture_is_bloated_downstream_and_the_run_is_whole() {
    let dir = tempfile::tempdir().expect("a folder for the run");
    let out = dir.path().join("run");
    let output = run(&["analyze", &capture(), "--out", &out.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).starts_with("Bufferbloat when downloading"),
        "{}",
        text(&output.stdout)
    );
    let info: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("run.json")).expect("run.json")).expect("JSON");
    assert_eq!(info["packets"], 90_064);
    assert_eq!(info["status"], "complete");
    assert_eq!(info["options"]["min_sending_rate"], "30.00 Mbit/s");
    let report = fs::read_to_string(out.join("report.html")).expect("the report");
    assert!(report.contains("Content-Security-Policy"));
    for table in [
        "flows",
        "rtt",
        "in_flight",
        "bandwidth",
        "events",
        "users",
        "standing",
        "summary",
        "figures",
    ] {
        assert!(out.join(format!("{table}.parquet")).exists(), "{table}");
    }
}

#[test]
fn the_verdict_is_printed_where_no_run_can_be_written() {
    let dir = tempfile::tempdir().expect("a folder to work in");
    let runs = dir.path().join("runs");
    fs::write(&runs, "not a folder").expect("a file");
    let output = unbloat(&["analyze", &capture(), "--quiet"])
        .env("UNBLOAT_RUNS", &runs)
        .output()
        .expect("the command starts");
    let (printed, told) = (text(&output.stdout), text(&output.stderr));
    assert!(
        printed.starts_with("Bufferbloat when downloading"),
        "{printed}"
    );
    assert!(
        told.contains(&format!("no run was written: {}: ", runs.display())),
        "{told}"
    );
    assert!(told.contains("--out"), "{told}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_table_goes_to_standard_output_and_nothing_else_does() {
    let output = run(&["analyze", &capture(), "--format", "csv", "--table", "flows"]);
    let csv = text(&output.stdout);
    let mut lines = csv.lines();
    assert!(
        lines
            .next()
            .expect("a header")
            .starts_with("flow_id,user_id,client")
    );
    assert_eq!(lines.count(), 10);
}

#[test]
fn each_flow_is_a_line_of_json() {
    let lines = text(&run(&["analyze", &capture(), "--format", "jsonl"]).stdout);
    assert_eq!(lines.lines().count(), 10);
}

#[test]
fn standard_input_gives_the_same_table_as_the_file() {
    let file = run(&["analyze", &capture(), "--format", "csv"]).stdout;
    let mut child = unbloat(&["analyze", "-", "--format", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let bytes = fs::read(capture()).expect("the capture");
    let mut stdin = child.stdin.take().expect("piped");
    std::thread::spawn(move || stdin.write_all(&bytes).expect("it reads all"));
    let output = child.wait_with_output().expect("it ends");
    assert!(!file.is_empty() && output.stdout == file);
}

#[test]
fn a_cut_capture_is_analysed_up_to_the_cut_and_the_exit_code_says_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let cut = dir.path().join("cut.pcap.zst");
    let bytes = fs::read(capture()).expect("the capture");
    fs::write(&cut, &bytes[..bytes.len() / 2]).expect("half of it");
    let output = run(&["analyze", &cut.display().to_string(), "--no-run"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output.stderr).contains("stopped at byte"),
        "{}",
        text(&output.stderr)
    );
    assert!(
        text(&output.stdout).starts_with("Bufferbloat"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn ctrl_c_writes_what_is_known_and_says_so() {
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().join("run");
    let mut child = unbloat(&["analyze", "-", "--out", &out.display().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let plain = Command::new("zstd")
        .args(["-dc", &capture()])
        .output()
        .expect("zstd is installed");
    let mut stdin = child.stdin.take().expect("piped");
    stdin
        .write_all(&plain.stdout[..4_000_000])
        .expect("it reads");
    let stopped = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(stopped.expect("kill is there").success());
    std::thread::sleep(std::time::Duration::from_millis(300));
    // It notices with the packets that come next. It may have ended: then nobody reads.
    let _ = stdin.write_all(&plain.stdout[4_000_000..]);
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("the result covers only these"),
        "{}",
        text(&output.stderr)
    );
    let info = fs::read_to_string(out.join("run.json")).expect("the run was written");
    assert!(info.contains("\"interrupted\""), "{info}");
}

#[test]
fn errors_name_the_fix() {
    for (args, code, fix) in [
        (vec!["analyze", "nowhere.pcap"], 1, "check the path"),
        (vec!["analyze"], 2, "<CAPTURE>"),
        (
            vec!["analyze", "a.pcap", "--min-sending-rate", "30"],
            2,
            "20 Mbit/s",
        ),
        (
            vec!["analyze", "a.pcap", "--client-net", "10.0.0.0"],
            2,
            "10.0.0.0/8",
        ),
        (vec!["analyze", "a.pcap", "--format", "xml"], 2, "jsonl"),
        (vec!["model", "--buffer", "many"], 2, "20..1000"),
        (vec!["model", "--utilisation", "0"], 2, "above 0"),
        (vec!["model", "--hop", "1 Mbit/s"], 1, "must be faster"),
        (
            vec!["model", "--measured", "nowhere.csv"],
            1,
            "check the path",
        ),
    ] {
        let output = run(&args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(fix), "{args:?}: {error}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn a_model_answers_in_words_and_leaves_a_run_with_figure_4() {
    let dir = tempfile::tempdir().expect("a folder for the run");
    let out = dir.path().join("run");
    let folder = out.display().to_string();
    let output = run(&[
        "model",
        "--buffer",
        "1..50",
        "--utilisation",
        "0.95",
        "--out",
        &folder,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("from 35 packets (52.5 kB)"), "{said}");
    assert!(out.join("model.parquet").exists());
    let report = fs::read_to_string(out.join("report.html")).expect("the report");
    for curve in [
        "M/M/1/K, load 0.95",
        "M/D/1/K, load 0.95",
        "Eq. 4, load 0.95",
        "Eq. 5, load 0.95",
    ] {
        assert!(
            report.contains(&format!("\"series\":\"{curve}\"")),
            "{curve}"
        );
    }
    assert!(
        !report.contains("id=\"picker\""),
        "there are no flows to pick from"
    );
}

#[test]
fn a_curve_that_the_model_printed_leads_back_to_its_buffer_and_rate() {
    let loads = "0.3,0.6,0.8,0.95,1.05,1.5";
    let asked = [
        "model",
        "--rate",
        "7 Mbit/s",
        "--buffer",
        "60",
        "--format",
        "csv",
        "--utilisation",
        loads,
    ];
    let curve: Vec<String> = text(&run(&asked).stdout)
        .lines()
        .filter(|line| line.starts_with("model,") || line.starts_with("mm1k,"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(curve.len(), 7);
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("curve.csv");
    fs::write(&file, curve.concat()).expect("a file in it");
    let file = file.display().to_string();
    let output = run(&["model", "--measured", &file, "--no-run"]);
    let said = text(&output.stdout);
    let fitted = "Measured curve: a buffer of 60 packets (90.0 kB) at 7.00 Mbit/s";
    assert!(said.contains(fitted), "{said}{}", text(&output.stderr));
}

#[test]
fn an_existing_folder_is_never_overwritten() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("mine"), "keep").expect("a file in it");
    let output = run(&[
        "analyze",
        &capture(),
        "--out",
        &dir.path().display().to_string(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        fs::read_to_string(dir.path().join("mine")).expect("still there"),
        "keep"
    );
}

#[test]
fn every_command_shows_an_example() {
    for command in ["analyze", "compare", "model", "report", "schema"] {
        let help = text(&run(&[command, "--help"]).stdout);
        assert!(help.contains("Example"), "{command}");
        assert!(help.contains(&format!("  unbloat {command}")), "{command}");
    }
}

/// `docs/schema.md` is made by `unbloat schema`; UNBLOAT_BLESS=1 makes it anew.
#[test]
fn the_schema_page_is_the_one_that_the_command_prints() {
    let page = root().join("docs/schema.md");
    let printed = text(&run(&["schema"]).stdout);
    if std::env::var_os("UNBLOAT_BLESS").is_some() {
        fs::write(&page, &printed).expect("the page");
    }
    let stored = fs::read_to_string(&page).unwrap_or_default();
    assert!(
        stored == printed,
        "docs/schema.md is stale: run UNBLOAT_BLESS=1 cargo test -p unbloat-cli"
    );
}

/// `docs/schema/*.json` are made by `unbloat schema NAME`; UNBLOAT_BLESS=1 makes them anew.
#[test]
fn the_schemas_of_documents_are_those_that_the_command_prints() {
    let refused = text(&run(&["schema", "none-such"]).stderr);
    let (_, names) = refused.split_once("[possible values: ").expect("names");
    let names: Vec<&str> = names.split(']').next().unwrap().split(", ").collect();
    assert!(names.len() > 10, "{refused}");
    for name in names {
        let file = root().join(format!("docs/schema/{name}.json"));
        let printed = text(&run(&["schema", name]).stdout);
        if std::env::var_os("UNBLOAT_BLESS").is_some() {
            fs::write(&file, &printed).expect("the schema");
        }
        let stored = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            stored == printed,
            "docs/schema/{name}.json is stale: run UNBLOAT_BLESS=1 cargo test -p unbloat-cli"
        );
    }
}

#[test]
fn run_json_keeps_its_schema() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let out = dir.path().join("run");
    let output = run(&["analyze", &capture(), "--out", &out.display().to_string()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let read = |path: &Path| -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
    };
    let schema = read(&root().join("docs/schema/run.json"));
    let violations = unbloat_testkit::violations(&schema, &read(&out.join("run.json")));
    assert_eq!(violations, Vec::<String>::new());
}

/// Commands that print without an input.
const PRINTERS: [&[&str]; 2] = [&["schema"], &["model", "--rate", "10Mbit/s", "--no-run"]];

#[test]
fn a_full_standard_output_is_an_error_in_words() {
    for args in PRINTERS {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = unbloat(args).stdout(full).stderr(Stdio::piped()).output();
        let output = output.unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {told}");
        assert!(told.contains("standard output"), "{args:?}: {told}");
        assert!(!told.contains("panicked"), "{told}");
    }
}

#[test]
fn a_reader_that_has_gone_ends_a_command_without_a_word() {
    for args in PRINTERS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = unbloat(args).stdout(writer).stderr(Stdio::piped()).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(text(&output.stderr), "", "{args:?}");
    }
}

#[test]
fn a_standard_error_that_has_gone_is_no_reason_to_fail() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = unbloat(&["test", "127.0.0.1:1"]).stderr(writer).output();
    assert_eq!(output.unwrap().status.code(), Some(1), "not 101, a panic's");
}

#[test]
fn a_campaign_keeps_no_token() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("c.toml");
    let campaign = "name = \"c\"\nserver = \"127.0.0.1:1\"\n";
    fs::write(&file, campaign).unwrap();
    let out = dir.path().join("out");
    let output = unbloat(&["campaign", "--report", "--token", "SECRETX", "--quiet"])
        .args(["--out".as_ref(), out.as_os_str(), file.as_os_str()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let run = fs::read_to_string(out.join("report/run.json")).unwrap();
    assert!(run.contains("--token") && !run.contains("SECRETX"), "{run}");
    let page = fs::read_to_string(out.join("report/report.html")).unwrap();
    assert!(!page.contains("SECRETX"));
}

#[test]
fn a_path_on_which_no_time_passes_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("free.toml");
    fs::write(
        &file,
        "[scenario]\nduration = \"1 s\"\n[link]\n[[flow]]\napp = \"bulk\"\n",
    )
    .unwrap();
    let output = run(&["sim", file.to_str().unwrap(), "--no-run"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("neither \"rate\" nor \"delay\""), "{told}");
}

#[test]
fn a_trace_that_is_a_pipe_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let file = dir.path().join("piped.toml");
    let scenario = "[link.down]\ntrace = \"pipe\"\ndelay = \"20 ms\"\n[[flow]]\napp = \"bulk\"\n";
    fs::write(&file, scenario).unwrap();
    let told = text(&run(&["sim", file.to_str().unwrap(), "--no-run"]).stderr);
    assert!(told.contains("plain file"), "{told}");
}

#[test]
fn a_key_that_everybody_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (cert, key) = (dir.path().join("cert"), dir.path().join("key"));
    for file in [&cert, &key] {
        fs::write(file, "").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let output = run(&[
        "serve",
        "--cert",
        cert.to_str().unwrap(),
        "--key",
        key.to_str().unwrap(),
    ]);
    let told = text(&output.stderr);
    assert!(told.contains("chmod"), "{told}");
}

#[test]
fn fix_says_at_once_that_it_may_not() {
    // A folder of journals that cannot be made. Nobody listens there, which is found after.
    let output = unbloat(&["fix", "127.0.0.1:1", "--yes"])
        .env("UNBLOAT_RUN", "/proc/unbloat")
        .output()
        .unwrap();
    let told = text(&output.stderr);
    assert!(told.contains("root"), "{told}");
    assert!(!told.contains("running test"), "{told}");
}
