//! `unbloat fix` over an emulated path. Needs root.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use unbloat_netns::Bed;
use unbloat_responsiveness::{LoadedDirection, SCHEMA, verdict};
use unbloat_testkit::until;
use unbloat_units::{Delta, Direction, Rate};

const UNBLOAT: &str = env!("CARGO_BIN_EXE_unbloat");

/// Its output stays open, so that it can write.
struct Server(
    Child,
    #[expect(dead_code, reason = "it is only held")] BufReader<ChildStdout>,
);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server on any address, its port and its fingerprint.
fn serve() -> (Server, String, String) {
    let mut child = Command::new(UNBLOAT)
        .args([
            "serve",
            "--json",
            "--listen",
            "0.0.0.0:0",
            "--listen-echo",
            "0.0.0.0:0",
            "--allow-congestion-control",
            "cubic",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let text = |key: &str| said[key].as_str().unwrap().to_owned();
    let port = text("tls").rsplit(':').next().unwrap().to_owned();
    (Server(child, out), port, text("fingerprint"))
}

fn a_test_of_another_server_or_of_another_schema_is_no_ground() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("test.json");
    let fix = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let out = Command::new(UNBLOAT)
            .args(["fix", "box", "--dry-run", "--test"])
            .arg(&file)
            .output()
            .unwrap();
        assert_eq!(out.status.code(), Some(1));
        String::from_utf8(out.stderr).unwrap()
    };
    let document = |schema: &str, target: &str| {
        format!(
            r#"{{"schema":"{schema}","target":"{target}","is_cut":false,"server":{{}},"verdict":{{"kind":"unknown","grade":null,
            "headline":"","places":[],"directions":[],"doubts":[],"advice":[]}}}}"#
        )
    };
    assert!(
        fix(&document("unbloat.test/2", "other")).contains("a test of other, not of https://box")
    );
    assert!(fix(&document("unbloat.test/7", "box")).contains("unbloat.test/7"));
    assert!(fix("no JSON").contains("not the JSON of a test"));
}

/// A test of an upload that adds so much, as `unbloat test --json` prints it.
fn document(added_ms: i64) -> String {
    of_load("box", "127.0.0.1", Direction::Up, true, added_ms)
}

fn of_load(
    host: &str,
    address: &str,
    direction: Direction,
    is_steady: bool,
    added_ms: i64,
) -> String {
    let load = LoadedDirection {
        direction,
        delivered: Rate::mbps(10),
        line: Rate::kbps(10_359),
        is_steady,
        added: Delta::ms(added_ms),
        added_p95: Delta::ms(added_ms),
        idle_rtt: Delta::ms(20),
        unsent: None,
        is_starved: false,
        located: None,
    };
    let verdict = serde_json::to_value(verdict(vec![load], Vec::new())).unwrap();
    serde_json::json!({
        "schema": SCHEMA, "target": format!("https://{host}:4043/.well-known/nq"), "is_cut": false,
        "server": {"address": format!("{address}:4043")}, "verdict": verdict,
    })
    .to_string()
}

/// A command that is given the test of a path with so much added delay.
fn run_after_test(args: &[&str], added_ms: i64) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("test.json");
    std::fs::write(&file, document(added_ms)).unwrap();
    let mut command = Command::new(UNBLOAT);
    command.args(args).arg("--test").arg(&file);
    command.output().unwrap()
}

fn a_healthy_path_is_left_alone() {
    let healthy = run_after_test(&["fix", "box", "--dry-run"], 9);
    assert_eq!(healthy.status.code(), Some(0));
    assert!(
        String::from_utf8_lossy(&healthy.stdout).contains("Nothing to fix: uploads add 9 ms"),
        "{healthy:?}"
    );
}

fn a_bloated_path_is_shown_what_would_be_done() {
    let bloated = run_after_test(&["fix", "box", "--dry-run"], 240);
    let said = String::from_utf8_lossy(&bloated.stderr).into_owned();
    assert_eq!(bloated.status.code(), Some(0), "{said}");
    assert!(said.contains("shape uploads to 9.84 Mbit/s"), "{said}");
    // The kernel's cake or fq_codel, or our own.
    let commands = [
        "tc qdisc replace dev lo root",
        "unbloat shape --interface lo --rate-up 9841000bit/s",
    ];
    assert!(
        commands.iter().any(|command| said.contains(command)),
        "{said}"
    );
    assert!(said.contains("nothing was changed"), "{said}");
    // `sqm plan` starts from the same decision.
    let plan = run_after_test(
        &[
            "sqm",
            "plan",
            "--interface",
            "lo",
            "--json",
            "--qdisc",
            "cake",
        ],
        240,
    );
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    assert_eq!(plan["plan"]["up_bps"], 9_841_000, "{plan}");
}

fn a_cure_is_judged_by_the_same_test_and_leaves_either_a_shaper_or_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"
        before=$(tc qdisc show dev path)
        "$0" fix "$UNBLOAT_BASE:$1" --pin "$2" --yes --json --quiet --congestion-control cubic \
            --stages 1s,3s,3s,0s > "$3/fix.json" 2> "$3/errors"
        echo $? > "$3/code"
        "$0" sqm remove --interface path > /dev/null 2>&1
        [ "$(tc qdisc show dev path)" = "$before" ] && echo same > "$3/after"
        true"#;
    let (server, port, fingerprint) = serve();
    let mut shell = Command::new(UNBLOAT);
    shell.args([
        "lab",
        "shell",
        "--quiet",
        "--rate-down",
        "20 Mbit/s",
        "--rate-up",
        "5 Mbit/s",
    ]);
    shell.args([
        "--delay",
        "5ms",
        "--queue",
        "droptail:500kB",
        "--queue-up",
        "droptail:125kB",
    ]);
    shell.args(["--", "sh", "-c", script, UNBLOAT, &port, &fingerprint]);
    shell.arg(dir.path()).env("UNBLOAT_RUN", dir.path());
    assert!(shell.status().unwrap().success());
    drop(server);
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap_or_default();
    let (said, errors, code) = (read("fix.json"), read("errors"), read("code"));
    assert_eq!(read("after").trim(), "same", "{errors}");
    let document: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said} {errors}"));
    let schema = include_str!("../../../docs/schema/fix.json");
    let schema = serde_json::from_str(schema).unwrap();
    let violations = unbloat_testkit::violations(&schema, &document);
    assert_eq!(violations, Vec::<String>::new());
    assert!(
        document["because"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    );
    if code.trim() == "5" {
        // A machine too busy for a test: then nothing may have been changed, which was looked at.
        assert_eq!(document["shaper"], Value::Null);
        return;
    }
    let helped = document["has_helped"].as_bool().unwrap();
    assert_eq!(code.trim(), if helped { "0" } else { "4" });
    for when in ["before", "after"] {
        assert_eq!(document[when]["schema"], SCHEMA);
    }
    assert!(
        document["shaper"]["up_bps"].as_u64().is_some(),
        "{document}"
    );
    // The empty path has room for six downloads and four uploads, its queues for more.
    for load in document["before"]["loads"].as_array().unwrap() {
        assert!(load["flows"].as_u64().unwrap() > 6, "{load}");
    }
}

/// Control groups that a process made for itself.
fn groups_of(pid: u32) -> String {
    let mut find = Command::new("find");
    find.args(["/sys/fs/cgroup", "-type", "d", "-name"]);
    find.arg(format!("unbloat-drwa-{pid}-*"));
    String::from_utf8(find.output().unwrap().stdout).unwrap()
}

fn a_killed_fix_leaves_neither_a_shaper_nor_a_control_group() {
    const SERVER: &str = "10.9.0.2";
    let bed = Bed::new().unwrap();
    let hosts = [bed.host("client").unwrap(), bed.host("server").unwrap()];
    hosts[0].veth("eth0", &hosts[1], "eth0").unwrap();
    for (host, address) in hosts.iter().zip(["10.9.0.1/24", "10.9.0.2/24"]) {
        host.address("eth0", address.parse().unwrap()).unwrap();
    }
    // Never says a word: the second test is long.
    let listen = || TcpListener::bind((SERVER, 4043)).unwrap();
    let _silent = hosts[1].within(listen).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.json");
    let journals = folder.path().join("run");
    let queues = || {
        let mut tc = hosts[0].command("tc").unwrap();
        let said = tc.args(["qdisc", "show"]).output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    let before = queues();
    for (direction, is_steady) in [(Direction::Up, true), (Direction::Down, false)] {
        std::fs::write(&file, of_load(SERVER, SERVER, direction, is_steady, 240)).unwrap();
        let mut command = hosts[0].command(UNBLOAT).unwrap();
        command.args(["fix", SERVER, "--insecure", "--yes", "--quiet"]);
        command.args(["--interface", "eth0", "--qdisc", "fifo", "--test"]);
        command.arg(&file).env("UNBLOAT_RUN", &journals);
        command.current_dir(folder.path());
        let mut fix = command.stdout(Stdio::null()).spawn().unwrap();
        let pid = fix.id();
        until("nothing was changed", || {
            queues() != before || !groups_of(pid).is_empty()
        });
        fix.kill().unwrap();
        fix.wait().unwrap();
        until("it stays", || {
            queues() == before && groups_of(pid).is_empty()
        });
    }
}

unbloat_testkit::main! {
    always() => [
        a_healthy_path_is_left_alone,
        a_test_of_another_server_or_of_another_schema_is_no_ground,
    ],
    root("finding out what a kernel offers") => [
        a_bloated_path_is_shown_what_would_be_done,
    ],
    root("an emulated path") => [
        a_cure_is_judged_by_the_same_test_and_leaves_either_a_shaper_or_nothing,
    ],
    root("a cure") => [
        a_killed_fix_leaves_neither_a_shaper_nor_a_control_group,
    ],
}
