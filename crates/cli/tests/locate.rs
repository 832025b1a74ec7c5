//! `unbloat locate` as a user meets it: errors that name the fix, the JSON object, Ctrl-C.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use unbloat_netns::tc::Framing;
use unbloat_netns::{Bed, Host, Route};
use unbloat_units::Rate;

const UNBLOAT: &str = env!("CARGO_BIN_EXE_unbloat");
const SERVER: &str = "10.3.2.2";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Exit code and what is said to people; nothing may be on standard output.
fn refused(args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(UNBLOAT);
    let output = command.arg("locate").args(args).arg("--no-run").output();
    let output = output.expect("the command starts");
    assert_eq!(text(&output.stdout), "", "{args:?}");
    (output.status.code(), text(&output.stderr))
}

fn what_cannot_be_done_is_said_at_once_with_what_would_help() {
    let cases: [(&[&str], &[&str]); 6] = [
        (
            &["nowhere.invalid"],
            &["cannot resolve nowhere.invalid", "check the name"],
        ),
        (
            &["127.0.0.1:1"],
            &["127.0.0.1:1", "start `unbloat serve` there"],
        ),
        (
            &["irtt://127.0.0.1"],
            &["cannot carry load", "runs `unbloat serve`"],
        ),
        (
            &["127.0.0.1", "-6"],
            &["127.0.0.1 has no address", "omit -4 or -6"],
        ),
        (
            &["127.0.0.1", "--peer", "nobody.invalid"],
            &["cannot resolve nobody.invalid"],
        ),
        (
            &["127.0.0.1", "--stage-duration", "1 ms"],
            &["half a second or more"],
        ),
    ];
    for (args, words) in cases {
        let (code, said) = refused(args);
        assert_eq!(code, Some(1), "{args:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{args:?}: {said}");
        }
    }
    let (code, said) = refused(&["127.0.0.1", "--direction", "sideways"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("down, up, both"), "{said}");
}

/// This host, a router with a thin line up, and a server. It is ended when this is dropped.
struct Path {
    serving: Child,
    host: Host,
    _others: [Host; 2],
    _bed: Bed,
}

impl Path {
    fn build() -> Path {
        let bed = Bed::new().expect("a bed");
        let host = bed.host("host").expect("a host");
        let router = bed.host("router").expect("a host");
        let server = bed.host("server").expect("a host");
        for (near, far, net) in [(&host, &router, 1), (&router, &server, 2)] {
            near.veth("right", far, "left").expect("a pair");
            for (node, device, last) in [(near, "right", 1), (far, "left", 2)] {
                node.offloads_off(device).expect("no offloads");
                let address = format!("10.3.{net}.{last}/24");
                node.address(device, address.parse().expect("a network"))
                    .expect("an address");
            }
        }
        let to = |net: &str, via: [u8; 4], node: &Host| {
            let route = Route::Gateway(std::net::IpAddr::from(via));
            node.route(net.parse().expect("a network"), route)
                .expect("a route");
        };
        to("10.3.2.0/24", [10, 3, 1, 2], &host);
        to("10.3.1.0/24", [10, 3, 2, 1], &server);
        router.forward().expect("a router");
        router
            .set("net/ipv4/icmp_ratelimit", "0")
            .expect("a setting");
        // As systems come that keep users from echo requests.
        host.set("net/ipv4/ping_group_range", "1 0")
            .expect("a setting");
        router
            .bottleneck("right", "pfifo limit 60", Rate::mbps(5), Framing::default())
            .expect("a queue");
        let mut serving = server.command(UNBLOAT).expect("a command");
        serving.args(["serve", "--no-echo", "--json", "--listen"]);
        serving.arg(format!("{SERVER}:4043")).stdout(Stdio::piped());
        let mut serving = serving.stderr(Stdio::null()).spawn().expect("it starts");
        let mut line = String::new();
        let said = serving.stdout.take().expect("a pipe");
        BufReader::new(said).read_line(&mut line).expect("a line");
        assert!(line.contains("fingerprint"), "{line}");
        Path {
            serving,
            host,
            _others: [router, server],
            _bed: bed,
        }
    }

    fn locate(&self, args: &[&str]) -> Command {
        let mut command = self.host.command(UNBLOAT).expect("a command");
        command.args(["locate", SERVER, "--insecure", "--stage-duration", "1 s"]);
        command.args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        command
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.serving.kill();
        let _ = self.serving.wait();
    }
}

fn object(output: &Output) -> Value {
    let said = text(&output.stdout);
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

fn a_run_gives_one_object_a_folder_and_a_report() {
    let path = Path::build();
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().join("run").display().to_string();
    let output = path
        .locate(&[
            "--direction",
            "up",
            "--probe",
            "icmp",
            "--json",
            "--out",
            &out,
        ])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let all = object(&output);
    let expected = [
        "failed",
        "far_end_hop",
        "format",
        "format_version",
        "is_cut",
        "probe",
        "probes",
        "target",
        "verdicts",
    ];
    assert_eq!(keys(&all), expected);
    assert_eq!(all["far_end_hop"], 2);
    assert_eq!(all["probe"], "icmp");
    let verdict = &all["verdicts"][0];
    assert_eq!(keys(verdict), ["finding", "hops", "load", "text"]);
    assert_eq!(verdict["load"], "up");
    let hop = &verdict["hops"][1];
    let of_hop = [
        "added_ms",
        "addresses",
        "hop",
        "idle_answered",
        "idle_p50_ms",
        "idle_sent",
        "kind",
        "loaded_answered",
        "loaded_p50_ms",
        "loaded_p95_ms",
        "loaded_sent",
        "persisting_ms",
    ];
    assert_eq!(keys(hop), of_hop);
    assert_eq!(hop["addresses"][0], SERVER);
    let read = |name: &str| std::fs::read_to_string(format!("{out}/{name}")).expect(name);
    let stored: Value = serde_json::from_str(&read("locate.json")).expect("JSON");
    let schema = include_str!("../../../docs/schema/locate.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    let violations = unbloat_testkit::violations(&schema, &stored);
    assert_eq!(violations, Vec::<String>::new());
    assert_eq!(stored, all);
    assert!(read("report.html").contains("locate-added"));
    for table in ["hops", "hop_probes", "locations"] {
        let file = format!("{out}/{table}.parquet");
        assert!(std::fs::exists(&file).expect("a folder"), "{file}");
    }
}

fn ctrl_c_ends_a_run_in_order_and_says_what_is_known() {
    let path = Path::build();
    let child = path.locate(&["--json", "--no-run"]).spawn();
    let mut child = child.expect("it starts");
    let said = child.stderr.take().expect("a pipe");
    let mut lines = BufReader::new(said).lines();
    let is_idle = |line: &String| line.contains("measuring idle");
    let found = lines.by_ref().map_while(Result::ok).find(is_idle);
    assert!(found.is_some(), "it says what it does");
    kill_process(Pid::from_child(&child), Signal::INT).expect("it is there");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    let all = object(&output);
    assert_eq!(all["is_cut"], true);
    assert_eq!(all["verdicts"], Value::Array(Vec::new()));
    assert_eq!(all["far_end_hop"], 2);
    let left: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(
        left.iter().any(|line| line.contains("stopping")),
        "{left:?}"
    );
}

unbloat_testkit::main! {
    always() => [
        what_cannot_be_done_is_said_at_once_with_what_would_help,
    ],
    root("a path of namespaces") => [
        a_run_gives_one_object_a_folder_and_a_report,
        ctrl_c_ends_a_run_in_order_and_says_what_is_known,
    ],
}
