//! `unbloat watch` as its user sees it. What needs root says so and passes without it.

mod pty;

use pty::Pty;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use unbloat_netns::{Bed, Host};
use unbloat_testkit::until;

const UNBLOAT: &str = env!("CARGO_BIN_EXE_unbloat");
const MANUAL: &str = include_str!("../../../docs/watch.md");

/// A host whose packets wait in a bucket, and what it sends them to.
struct Slow {
    _bed: Bed,
    host: Host,
    _other: Host,
}

impl Slow {
    fn new() -> Slow {
        let bed = Bed::new().unwrap();
        let (host, other) = (bed.host("here").unwrap(), bed.host("there").unwrap());
        host.veth("wan0", &other, "wan0").unwrap();
        for (end, net) in [(&host, "10.72.0.1/24"), (&other, "10.72.0.2/24")] {
            end.address("wan0", net.parse().unwrap()).unwrap();
        }
        let address = "10.72.0.2".parse().unwrap();
        host.neighbour("wan0", address, other.mac("wan0")).unwrap();
        host.queue("wan0", "tbf rate 4mbit burst 5000 limit 100000")
            .unwrap();
        Slow {
            _bed: bed,
            host,
            _other: other,
        }
    }

    fn watch(&self, arguments: &[&str]) -> Command {
        let mut command = self.host.command(UNBLOAT).unwrap();
        command.arg("watch").args(arguments);
        command
    }

    fn disciplines(&self) -> String {
        let mut tc = self.host.command("tc").unwrap();
        let shown = tc.args(["qdisc", "show"]).output().unwrap();
        String::from_utf8(shown.stdout).unwrap()
    }

    /// Sends more than the bucket lets through while `job` runs, which is told from where.
    fn while_sending<T>(&self, job: impl FnOnce(SocketAddr) -> T) -> T {
        let socket = self
            .host
            .within(|| UdpSocket::bind("10.72.0.1:0"))
            .unwrap()
            .unwrap();
        let from = socket.local_addr().unwrap();
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    // The bucket drops what is too much.
                    let _ = socket.send_to(&[7; 1_000], "10.72.0.2:9");
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let result = job(from);
            ends.store(true, Ordering::Relaxed);
            result
        })
    }
}

/// All names of fields, at any depth.
fn names(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                into.insert(name.clone());
                names(field, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names(item, into)),
        _ => {}
    }
}

fn lines(output: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(output);
    let parse = |line| serde_json::from_str(line).expect("a line is JSON");
    text.lines().map(parse).collect()
}

fn each_line_has_the_fields_of_the_manual_and_the_flow_that_waits() {
    let slow = Slow::new();
    for arguments in [
        &["--json", "--duration", "1200 ms", "--interval", "400 ms"][..],
        &[
            "--json",
            "--duration",
            "1200 ms",
            "--interval",
            "400 ms",
            "--no-bpf",
        ],
    ] {
        let output = slow.while_sending(|from| (from, slow.watch(arguments).output().unwrap()));
        let (from, output) = output;
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{told}");
        let looks = lines(&output.stdout);
        assert!(looks.len() >= 2, "{told}");
        let mut all = BTreeSet::new();
        looks.iter().for_each(|look| names(look, &mut all));
        let missing: Vec<_> = all
            .iter()
            .filter(|name| !MANUAL.contains(&format!("`{name}`")))
            .collect();
        assert!(missing.is_empty(), "the manual lacks {missing:?}");
        let last = looks.last().unwrap();
        let is_measured = !arguments.contains(&"--no-bpf");
        assert_eq!(last["is_measured"], is_measured);
        assert_eq!(told.contains("estimated"), !is_measured, "{told}");
        let device = &last["interfaces"].as_array().unwrap();
        let device = device.iter().find(|device| device["interface"] == "wan0");
        let device = device.unwrap();
        assert_eq!(device["queue"]["kind"], "tbf");
        assert_eq!(device["t_q"]["is_measured"], is_measured);
        let flows = last["flows"].as_array().unwrap();
        // Without programs, packets of a socket that sends to many are nobody's.
        if is_measured {
            let flow = flows
                .iter()
                .find(|flow| flow["from"] == from.to_string())
                .unwrap();
            assert_eq!(
                (&flow["worst"], &flow["to"]),
                (&"qdisc".into(), &"10.72.0.2:9".into())
            );
            assert_eq!(flow["pid"], std::process::id());
            assert!(flow["t_q"]["mean_ms"].as_f64().unwrap() > 1.0, "{flow}");
        }
    }
}

fn a_run_of_samples_is_drawn_beside_the_layers_of_the_paper() {
    let slow = Slow::new();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run").to_str().unwrap().to_owned();
    let every = ["--interval", "200 ms", "--duration", "1500 ms"];
    let kept = ["--port", "9", "--json", "--out", &out];
    let output = slow.while_sending(|_| slow.watch(&[&every[..], &kept].concat()).output());
    let output = output.unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let looks = lines(&output.stdout);
    let t_q = looks
        .iter()
        .filter_map(|look| look["flows"][0]["t_q"]["mean_ms"].as_f64());
    let t_q: Vec<f64> = t_q.collect();
    let mean = t_q.iter().sum::<f64>() / t_q.len() as f64;

    let mut paper = Command::new(UNBLOAT);
    paper.args([
        "paper", "imc2016", "fig8", "--json", "--quiet", "--with", &out,
    ]);
    let made = paper.output().unwrap();
    assert!(matches!(made.status.code(), Some(0 | 4)), "{made:?}");
    let document: Value = serde_json::from_slice(&made.stdout).unwrap();
    let panel = &document["figures"][0]["panels"][0];
    let series = panel["series"].as_array().unwrap().iter();
    let yours = series
        .clone()
        .find(|one| one["name"] == "your host")
        .unwrap();
    // UDP waits in no socket, and a pair of veth devices does not say when a packet was sent.
    let names = panel["x_names"].as_array().unwrap();
    let place = names
        .iter()
        .position(|name| name == "T_Q, queueing discipline");
    assert_eq!(yours["x"], serde_json::json!([place.unwrap() as f64]));
    let drawn = yours["y"][0].as_f64().unwrap();
    assert!((drawn / mean - 1.0).abs() < 1e-6, "{drawn} {mean}");
}

fn without_privileges_it_says_so_and_estimates() {
    // Root without any capability is nobody.
    let tried = Command::new("setpriv")
        .args(["--bounding-set=-all", UNBLOAT, "watch", "--json", "--once"])
        .args(["--interval", "100 ms"])
        .output();
    let output = tried.expect("setpriv is of util-linux");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("needs root"), "{told}");
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert_eq!(lines(&output.stdout)[0]["is_measured"], false);
}

/// The numbers of the programs that a process has in the kernel.
fn programs(pid: u32) -> BTreeSet<String> {
    let folder = format!("/proc/{pid}/fdinfo");
    let mut found = BTreeSet::new();
    for descriptor in std::fs::read_dir(folder).unwrap().flatten() {
        let text = std::fs::read_to_string(descriptor.path()).unwrap_or_default();
        let numbers = text
            .lines()
            .filter_map(|line| line.strip_prefix("prog_id:"));
        found.extend(numbers.map(|number| number.trim().to_owned()));
    }
    found
}

fn is_loaded(program: &str) -> bool {
    let mut show = Command::new("bpftool");
    let shown = show.args(["prog", "show", "id", program]).output();
    shown
        .expect("bpftool is installed (tools/install test)")
        .status
        .success()
}

fn after_ctrl_c_nothing_is_left_in_the_kernel_and_no_discipline_is_another() {
    let slow = Slow::new();
    let before = slow.disciplines();
    let mut command = slow.watch(&["--json", "--interval", "100 ms"]);
    let mut watch = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(watch.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.contains("\"is_measured\":true"), "{line}");
    let programs = programs(watch.id());
    assert!(programs.len() >= 4, "{programs:?}");
    // Two at once, as of a terminal that is closed, or of one key where a process is being started: no second Ctrl-C.
    kill_process(Pid::from_child(&watch), Signal::INT).unwrap();
    kill_process(Pid::from_child(&watch), Signal::HUP).unwrap();
    // What it still writes must not hold it up.
    std::io::copy(&mut out, &mut std::io::sink()).unwrap();
    assert_eq!(watch.wait().unwrap().code(), Some(0));
    until("its programs stay", || {
        !programs.iter().any(|program| is_loaded(program))
    });
    assert_eq!(slow.disciplines(), before);
}

/// A live view in a terminal of so many columns, once it shows something.
fn in_a_terminal(columns: u16) -> (Pty, pty::Shown) {
    let mut command = Command::new(UNBLOAT);
    command.args(["watch", "--no-bpf"]).env("TERM", "xterm");
    let pty = Pty::run(&mut command, columns);
    let shown = pty.shown();
    // Spaces between words may be moves of the cursor.
    shown.until(&["devices,", "quit"]);
    (pty, shown)
}

fn the_live_view_ends_with_its_terminal() {
    let mut command = Command::new(UNBLOAT);
    command.args(["watch", "--no-bpf"]).env("TERM", "xterm");
    let mut pty = Pty::run(&mut command, 80);
    let mut first = [0];
    std::io::Read::read_exact(&mut pty.master, &mut first).unwrap();
    let hung_up = std::fs::File::open("/dev/null").unwrap();
    drop(std::mem::replace(&mut pty.master, hung_up));
    // No panic, which is 101.
    assert!(matches!(pty.end().code(), Some(0 | 1)));
}

fn the_live_view_ends_when_it_is_told_to() {
    let (mut pty, _shown) = in_a_terminal(80);
    kill_process(Pid::from_child(&pty.child), Signal::TERM).unwrap();
    assert!(pty.end().code().is_some());
}

fn the_live_view_shows_its_keys_explains_itself_and_follows_the_size() {
    for columns in [60, 80, 200] {
        let (mut pty, shown) = in_a_terminal(columns);
        shown.until(&[
            "devices,", "sort", "filter", "pause", "help", "quit", "nobody",
        ]);
        pty.press("?");
        // On rows that were empty; elsewhere only the letters that differ are written.
        shown.until(&["acknowledges"]);
        pty.press("?/nobody");
        shown.forget();
        pty::resize(&pty.master, 100);
        kill_process(Pid::from_child(&pty.child), Signal::WINCH).unwrap();
        // The new size may be drawn while the program has yet to hear of it, together with the next keys.
        shown.until(&["devices,"]);
        pty.press("\rp");
        shown.until(&["PAUSED"]);
        pty.press("q");
        assert_eq!(pty.end().code(), Some(0), "{columns}");
    }
}

unbloat_testkit::main! {
    always() => [
        the_live_view_ends_with_its_terminal,
        the_live_view_ends_when_it_is_told_to,
        the_live_view_shows_its_keys_explains_itself_and_follows_the_size,
    ],
    root("measuring within the kernel") => [
        each_line_has_the_fields_of_the_manual_and_the_flow_that_waits,
        a_run_of_samples_is_drawn_beside_the_layers_of_the_paper,
        without_privileges_it_says_so_and_estimates,
        after_ctrl_c_nothing_is_left_in_the_kernel_and_no_discipline_is_another,
    ],
}
