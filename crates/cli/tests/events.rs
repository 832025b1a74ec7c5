//! Events (`-v`): on standard error, and without any effect on results.

use rustix::pipe::pipe;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Prints one table of the shipped capture, and no run folder.
fn analyze(verbose: &[&str]) -> Command {
    let capture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/bloated-link.pcap.zst");
    let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
    command
        .args(verbose)
        .arg("analyze")
        .arg(capture)
        .args(["--format", "csv", "--table", "flows"])
        .env_remove("NO_COLOR");
    command
}

fn run(verbose: &[&str]) -> Output {
    let output = analyze(verbose).output().expect("the command starts");
    assert_eq!(output.status.code(), Some(0), "{verbose:?}: {output:?}");
    output
}

fn events(output: &Output) -> Vec<String> {
    let text = String::from_utf8(output.stderr.clone()).expect("UTF-8");
    let is_event = |line: &&str| line.contains(" unbloat");
    text.lines().filter(is_event).map(str::to_owned).collect()
}

#[test]
fn events_go_to_standard_error_and_results_stay_the_same() {
    let (without, info, debug) = (run(&[]), run(&["-v"]), run(&["-vv"]));
    assert_eq!(events(&without), Vec::<String>::new());
    assert!(without.stdout == info.stdout && without.stdout == debug.stdout);
    let ended = events(&info)
        .into_iter()
        .find(|line| line.contains("analysis ended"))
        .expect("the event");
    // Time, level, target, message, fields; no colours, because it is no terminal.
    let (time, rest) = ended.split_once(' ').expect("a time");
    assert!(time.len() == 24 && time.ends_with('Z'), "{ended}");
    assert!(
        rest.starts_with(" INFO unbloat_analyze::run: analysis ended packets=90064"),
        "{ended}"
    );
    assert!(events(&info).iter().all(|line| !line.contains("DEBUG")));
    assert!(events(&debug).iter().any(|line| line.contains("DEBUG")));
}

#[test]
fn the_option_may_stand_behind_the_command() {
    let output = analyze(&[]).arg("--verbose").output().expect("it starts");
    assert!(!events(&output).is_empty());
}

#[test]
fn a_closed_standard_error_does_no_harm() {
    let without = run(&[]);
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    let output = analyze(&["-vv"]).stderr(Stdio::from(writer)).output();
    let output = output.expect("the command starts");
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout == without.stdout);
}
