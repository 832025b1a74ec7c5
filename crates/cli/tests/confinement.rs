//! Who runs with which rights: by the kernel for commands, by systemd for units. The table in SECURITY.md is held to it.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../captures/bloated-link.pcap.zst"
);

fn unbloat(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
    command.args(words);
    command
}

/// What the kernel says of a process: `CapEff`, `NoNewPrivs` and `Seccomp`.
fn rights(child: &Child) -> Option<[String; 3]> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let of = |key: &str| {
        let found = status.lines().find_map(|line| line.strip_prefix(key));
        found.map(|value| value.trim().to_owned())
    };
    Some([of("CapEff:")?, of("NoNewPrivs:")?, of("Seccomp:")?])
}

/// Nothing but CAP_DAC_OVERRIDE, no program with more rights, and a filter.
fn is_confined([capabilities, no_new, filter]: &[String; 3]) -> bool {
    let capabilities = u64::from_str_radix(capabilities, 16).expect("hexadecimal digits");
    capabilities & !0b10 == 0 && no_new == "1" && filter == "2"
}

/// Whether a command is confined before it ends.
fn becomes_confined(mut command: Command) -> bool {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let begun = Instant::now();
    let mut found = false;
    while !found && begun.elapsed() < Duration::from_secs(20) {
        found = rights(&child).is_some_and(|rights| is_confined(&rights));
        if child.try_wait().expect("a child").is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(child.stdin.take());
    let _ = child.kill();
    child.wait().expect("it ends");
    found
}

/// A row of the table, by the words of the command.
fn is_in_the_table(row: &str) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SECURITY.md");
    let text = fs::read_to_string(path).expect("SECURITY.md");
    let mut rows = text
        .lines()
        .filter(|line| line.trim_start().starts_with('|'));
    rows.any(|line| {
        line.contains(row) && line.contains("CAP_DAC_OVERRIDE") && line.contains("seccomp")
    })
}

fn readers_of_strangers_files_have_few_rights() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let run = run.to_str().expect("text");
    let made = unbloat(&["analyze", CAPTURE, "--quiet", "--out", run]).output();
    assert!(made.expect("it starts").status.success());
    for words in [
        &["analyze", "-", "--quiet"][..],
        &["report", run],
        &["compare", run, run],
        &["runs", "show", run],
    ] {
        let mut command = unbloat(words);
        command.env("UNBLOAT_RUNS", folder.path());
        assert!(becomes_confined(command), "{words:?}");
        assert!(is_in_the_table(&format!("`{}", words[0])), "{words:?}");
    }
}

fn a_live_capture_is_confined_once_its_socket_is_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let run = run.to_str().expect("text");
    let words = [
        "analyze",
        "--interface",
        "lo",
        "--duration",
        "5 s",
        "--quiet",
    ];
    let mut command = unbloat(&words);
    command.args(["--out", run]);
    assert!(becomes_confined(command));
    assert!(is_in_the_table("`analyze --interface"));
    // And it does its work.
    let mut again = unbloat(&words);
    let done = again.args(["--out", run]).output().expect("it starts");
    assert!(done.status.success(), "{done:?}");
    assert!(Path::new(run).join("run.json").exists());
}

/// By `systemd-analyze security`, which adds up what a unit may do.
fn units_have_few_rights() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, words, most) in [
        ("serve", &["serve", "--unit"][..], 2.5),
        ("monitor", &["monitor", "--interface", "lo", "--unit"], 4.0),
        ("autorate", AUTORATE, 4.0),
    ] {
        let unit = unbloat(words).output().expect("it starts");
        assert!(unit.status.success(), "{name}: {unit:?}");
        let file = folder.path().join(format!("{name}.service"));
        fs::write(&file, unit.stdout).expect("a file");
        let mut judge = Command::new("systemd-analyze");
        judge.args(["security", "--offline=true", "--no-pager"]);
        let said = judge.arg(&file).output().expect("it starts");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let exposure = said.lines().find_map(|line| {
            let (_, exposure) = line.split_once(".service: ")?;
            exposure.split(' ').next()?.parse::<f64>().ok()
        });
        let exposure = exposure.expect("a figure");
        assert!(exposure <= most, "{name}: {exposure}");
    }
}

const AUTORATE: &[&str] = &[
    "autorate",
    "--interface",
    "lo",
    "--interface-up",
    "lo",
    "--unit",
];

unbloat_testkit::main! {
    always() => [readers_of_strangers_files_have_few_rights],
    root("a packet socket") => [a_live_capture_is_confined_once_its_socket_is_open],
    tools(&["systemd-analyze"]) => [units_have_few_rights],
}
