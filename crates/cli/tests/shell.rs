//! `unbloat lab shell` as users call it. Needs root.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Output, Stdio};
use unbloat_netns::{Bed, Host};
use unbloat_testkit::until;

fn shell(options: &[&str], script: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
    command.args(["lab", "shell"]).args(options);
    command.args(["--", "sh", "-c", script]);
    command
}

fn run(options: &[&str], script: &str) -> (Output, String) {
    let output = shell(options, script).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

/// Devices of shells in this network, with their makers' networks.
fn devices() -> usize {
    let table = std::fs::read_to_string("/proc/net/dev").unwrap();
    table
        .lines()
        .filter(|line| line.contains("ub-shell"))
        .count()
}

/// Starts a command that says when it runs and then sleeps.
fn sleeping() -> (Child, i32) {
    let mut child = shell(&["-q"], "echo $$; exec sleep 90")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = child.stdout.as_mut().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
    (child, line.trim().parse().unwrap())
}

fn is_alive(pid: i32) -> bool {
    // A zombie has no command line.
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

fn exit_codes_and_output_are_the_commands() {
    let options = [
        "--rate-down",
        "20 Mbit/s",
        "--delay",
        "5ms",
        "--queue",
        "codel",
    ];
    let (output, said) = run(&options, "echo $UNBLOAT_BASE; exit 7");
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("100."));
    assert!(said.to_lowercase().contains("trustworthy"), "{said}");
    for (script, code) in [
        ("kill -TERM $$", 128 + 15),
        ("no-such-command 2> /dev/null", 127),
    ] {
        let (ended, nothing) = run(&["-q"], script);
        assert_eq!((ended.status.code(), nothing.as_str()), (Some(code), ""));
    }
}

fn a_series_tells_what_passed_and_how_long_it_waited() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("series.csv");
    let options = ["--rate-up", "1 Mbit/s", "--output", file.to_str().unwrap()];
    let (output, said) = run(
        &options,
        "bash -c 'echo one datagram > /dev/udp/$UNBLOAT_BASE/9; sleep 0.1'",
    );
    assert!(output.status.success(), "{said}");
    let series = std::fs::read_to_string(&file).unwrap();
    let mut lines = series.lines();
    let header = "time_ns,monotonic_ns,direction,wait_ms,bytes,tcp_delivered_bytes,tcp_bytes,drops";
    assert_eq!(lines.next(), Some(header));
    let up = lines.filter_map(|line| line.split_once(",up,"));
    let up: Vec<Vec<&str>> = up.map(|(_, rest)| rest.split(',').collect()).collect();
    // It may come in one step and leave in the next. IP and UDP take 28 bytes.
    let waits = up.iter().filter_map(|row| row[0].parse::<f64>().ok());
    assert_eq!(waits.collect::<Vec<_>>(), [0.0], "{series}");
    let bytes: u64 = up.iter().map(|row| row[1].parse::<u64>().unwrap()).sum();
    assert_eq!(bytes, 41, "{series}");
}

fn faults_are_told_before_anything_is_made() {
    for (options, code, hint) in [
        (&["--rate-down", "20mbps"][..], 2, "Mbit/s"),
        (&["--rate-down", "1 Mbit/s", "--queue", "codle"], 1, "codel"),
        (&["--trace-down", "/no/such/trace"], 1, "/no/such/trace"),
        (&["--set", "link.down.dealy=5ms"], 1, "delay"),
    ] {
        let (output, said) = run(options, "true");
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(hint), "{said}");
    }
}

fn a_request_to_end_ends_the_command_and_takes_everything_away() {
    let (mut child, sleeper) = sleeping();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    assert!(!is_alive(sleeper));
}

fn a_killed_shell_leaves_no_device_and_no_command() {
    let (mut child, sleeper) = sleeping();
    assert!(devices() > 0);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    until("the command has ended", || !is_alive(sleeper));
    until("no name is left", || unbloat_names(child.id()).is_empty());
}

fn a_killed_demo_leaves_no_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut demo = Command::new(env!("CARGO_BIN_EXE_unbloat"))
        .args(["demo", "--out"])
        .arg(folder.path().join("demo"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = || {
        let pid = demo.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let children = children.unwrap_or_default();
        let serves = |child: &&str| {
            let line = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).any(|word| word == b"serve")
        };
        children.split(' ').find(serves)?.parse::<i32>().ok()
    };
    until("a server", || server().is_some());
    let found = server().unwrap();
    demo.kill().unwrap();
    demo.wait().unwrap();
    until("the server has ended", || !is_alive(found));
    until("no name is left", || unbloat_names(demo.id()).is_empty());
}

/// A host that forwards for one device only.
struct Router {
    host: Host,
    _other: Host,
    _bed: Bed,
    journals: tempfile::TempDir,
}

impl Router {
    fn build() -> Router {
        let bed = Bed::new().unwrap();
        let [host, other] = ["router", "other"].map(|role| bed.host(role).unwrap());
        host.veth("wan", &other, "lan").unwrap();
        host.veth("lan", &other, "wan").unwrap();
        host.set("net/ipv4/conf/lan/forwarding", "1").unwrap();
        Router {
            host,
            _other: other,
            _bed: bed,
            journals: tempfile::tempdir().unwrap(),
        }
    }

    fn shell(&self, script: &str) -> Command {
        let mut command = self.host.command(env!("CARGO_BIN_EXE_unbloat")).unwrap();
        command.args(["lab", "shell", "-q", "--internet", "--delay", "1ms", "--"]);
        command.args(["sh", "-c", script]);
        command.env("UNBLOAT_RUN", self.journals.path());
        command.stderr(Stdio::piped()).stdout(Stdio::piped());
        command.process_group(0);
        command
    }

    /// A shell that runs.
    fn started(&self) -> Child {
        let mut child = self.shell("echo; exec sleep 90").spawn().unwrap();
        let stdout = child.stdout.as_mut().unwrap();
        std::io::Read::read_exact(stdout, &mut [0]).unwrap();
        assert_eq!(self.forwards(), ["1", "1", "1"]);
        child
    }

    /// As a whole, for one device and for the other.
    fn forwards(&self) -> [String; 3] {
        let keys = ["ip_forward", "conf/wan/forwarding", "conf/lan/forwarding"];
        keys.map(|key| {
            let path = format!("/proc/sys/net/ipv4/{key}");
            let read = self.host.within(|| std::fs::read_to_string(path));
            read.unwrap().unwrap().trim().to_owned()
        })
    }

    fn is_as_before(&self) -> bool {
        let table = self
            .host
            .within(|| std::fs::read_to_string("/proc/thread-self/net/dev"));
        let has_device = table.unwrap().unwrap().contains("ub-shell");
        let is_written_down = self.journals.path().read_dir().unwrap().next().is_some();
        self.forwards() == ["0", "0", "1"] && !has_device && !is_written_down
    }
}

fn what_the_way_out_changes_is_undone_however_the_shell_ends() {
    let router = Router::build();
    let ended = router
        .shell("cat /proc/sys/net/ipv4/ip_forward")
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&ended.stdout).trim(),
        "1",
        "{ended:?}"
    );
    assert!(router.is_as_before());

    let mut asked = router.started();
    let second = router.shell("true").output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(
        said.contains("IPv4 forwarding: in use by process"),
        "{said}"
    );
    // As a terminal does it: the shell leaves the answer to its command.
    kill_process_group(Pid::from_child(&asked), Signal::INT).unwrap();
    asked.wait().unwrap();
    until("an interrupted shell has undone it", || {
        router.is_as_before()
    });

    let mut killed = router.started();
    killed.kill().unwrap();
    killed.wait().unwrap();
    until("the guard of a killed shell has undone it", || {
        router.is_as_before()
    });

    // Nobody is left to undo it but the next start. A shell that is stopped does not see that its command has ended.
    let mut alone = router.started();
    let (owner, pid) = (Pid::from_child(&alone), alone.id());
    kill_process(owner, Signal::STOP).unwrap();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let children = children
        .split_whitespace()
        .map(|child| child.parse().unwrap());
    for child in children.filter_map(Pid::from_raw).chain([owner]) {
        kill_process(child, Signal::KILL).unwrap();
    }
    alone.wait().unwrap();
    assert_eq!(router.forwards()[0], "1");
    let next = router.shell("true").output().unwrap();
    assert!(next.status.success(), "{next:?}");
    assert!(router.is_as_before());
}

/// Network namespaces that carry the mark of a process.
fn unbloat_names(pid: u32) -> Vec<String> {
    let entries = std::path::Path::new("/run/netns")
        .read_dir()
        .into_iter()
        .flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter(|name| name.starts_with(&format!("ub-{pid}-")))
        .collect()
}

unbloat_testkit::main! {
    always() => [
        faults_are_told_before_anything_is_made,
    ],
    root("an emulated path") => [
        exit_codes_and_output_are_the_commands,
        a_series_tells_what_passed_and_how_long_it_waited,
        a_request_to_end_ends_the_command_and_takes_everything_away,
        a_killed_shell_leaves_no_device_and_no_command,
        a_killed_demo_leaves_no_server,
        what_the_way_out_changes_is_undone_however_the_shell_ends,
    ],
}
