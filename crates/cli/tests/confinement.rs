//! Who runs with which rights: by the kernel for commands, by systemd for units. The table in SECURITY.md is held to it.

use rustix::thread::CapabilitySet;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, lchown, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use unbloat_netns::Bed;

const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../captures/bloated-link.pcap.zst"
);

fn unbloat(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
    command.args(words);
    command
}

/// `CapEff`, `NoNewPrivs`, `Seccomp` and `Uid` of each thread of a process, from /proc.
fn rights(child: &Child) -> Option<Vec<[String; 4]>> {
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).ok()?;
    let mut all = Vec::new();
    for thread in threads {
        let status = fs::read_to_string(thread.ok()?.path().join("status")).ok()?;
        let of = |key: &str| {
            let found = status.lines().find_map(|line| line.strip_prefix(key));
            found.map_or(String::new(), |value| value.trim().to_owned())
        };
        all.push(["CapEff:", "NoNewPrivs:", "Seccomp:", "Uid:"].map(of));
    }
    (!all.is_empty()).then_some(all)
}

/// CAP_DAC_OVERRIDE at most, and a filter.
fn is_confined(thread: &[String; 4]) -> bool {
    has_at_most(thread, CapabilitySet::empty()) && thread[2] == "2"
}

/// No capabilities but CAP_DAC_OVERRIDE and these, and no program with more rights.
fn has_at_most([capabilities, no_new, ..]: &[String; 4], more: CapabilitySet) -> bool {
    let held = u64::from_str_radix(capabilities, 16).expect("hexadecimal digits");
    let allowed = CapabilitySet::DAC_OVERRIDE | more;
    allowed.contains(CapabilitySet::from_bits_retain(held)) && no_new == "1"
}

fn becomes_confined(command: Command) -> bool {
    becomes(command, is_confined)
}

/// How long a command must stay as it became: a thread that it starts before it gives up rights keeps them.
const STAYS: Duration = Duration::from_secs(1);

/// Whether all threads of a command become so, and stay so.
fn becomes(command: Command, is_so: impl Fn(&[String; 4]) -> bool) -> bool {
    become_together(command, |threads| threads.iter().all(&is_so))
}

/// As [`becomes`], of all threads at once.
fn become_together(mut command: Command, are_so: impl Fn(&[[String; 4]]) -> bool) -> bool {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let begun = Instant::now();
    let mut since = None;
    let stays = loop {
        // A thread that ends while its rights are read says nothing.
        if let Some(threads) = rights(&child) {
            since = are_so(&threads).then(|| since.unwrap_or_else(Instant::now));
        }
        if child.try_wait().expect("a child").is_some() {
            break since.is_some();
        }
        if since.is_some_and(|since| since.elapsed() > STAYS) {
            break true;
        }
        if begun.elapsed() > Duration::from_secs(20) {
            break false;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    drop(child.stdin.take());
    let _ = child.kill();
    child.wait().expect("it ends");
    stays
}

/// Whether SECURITY.md has a row for the command, which says what was seen.
fn is_in_the_table(command: &str) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../SECURITY.md");
    let text = fs::read_to_string(path).expect("SECURITY.md");
    let mut rows = text
        .lines()
        .filter(|line| line.trim_start().starts_with('|'));
    rows.any(|row| {
        let says = |words: &str| row.contains(words);
        says(command) && says("CAP_DAC_OVERRIDE") && says("no_new_privs, seccomp, Landlock")
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

/// A server of this host, ended when this is dropped.
struct Server {
    child: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = unbloat(&["serve", "--json", "--no-echo", "--listen", "127.0.0.1:0"]);
        command.env("XDG_DATA_HOME", folder.path());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let said = BufReader::new(child.stdout.take().expect("a pipe"));
        let line = said.lines().next().expect("a line").expect("text");
        let at: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        Server {
            child,
            address: at["tls"].as_str().expect("an address").to_owned(),
            _folder: folder,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Who called sudo.
const CALLER: &str = "1234";

/// With the caller's rights, but for probes of hops and what BPF programs have counted.
fn speaks(thread: &[String; 4]) -> bool {
    let held = u64::from_str_radix(&thread[0], 16).expect("hexadecimal digits");
    let allowed = CapabilitySet::NET_RAW | CapabilitySet::BPF;
    allowed.contains(CapabilitySet::from_bits_retain(held))
        && thread[1] == "1"
        && thread[2] == "2"
        && thread[3].split_whitespace().all(|id| id == CALLER)
}

fn who_speaks_with_a_server_has_the_rights_of_the_caller_of_sudo() {
    let server = Server::start();
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let of = |words: &[&str]| {
        let mut command = unbloat(words);
        command
            .args([&server.address, "--insecure", "--quiet"])
            .env("SUDO_UID", CALLER)
            .env("SUDO_GID", CALLER);
        command
    };
    let measures = CapabilitySet::SETUID
        | CapabilitySet::SETGID
        | CapabilitySet::NET_ADMIN
        | CapabilitySet::NET_RAW
        | CapabilitySet::BPF
        | CapabilitySet::PERFMON;
    for (words, others) in [
        (&["test", "--no-run"][..], measures),
        (&["locate", "--no-run"], measures),
        // Its other threads change the host.
        (&["fix", "--dry-run", "--no-run"], CapabilitySet::all()),
    ] {
        let waits = |thread: &[String; 4]| {
            let is_few = others == CapabilitySet::all() || has_at_most(thread, others);
            is_few && thread[3].starts_with("0\t")
        };
        let are_so = |threads: &[[String; 4]]| {
            let all = threads.iter().all(|thread| speaks(thread) || waits(thread));
            all && threads.iter().any(speaks)
        };
        assert!(become_together(of(words), are_so), "{words:?}");
    }
    // And it does its work: the run is root's, as it was.
    let mut glance = of(&["test", "--glance"]);
    let done = glance.arg("--out").arg(&run).output();
    let measured = fs::metadata(run.join("test.json"));
    let measured = measured.unwrap_or_else(|error| panic!("{error}: {done:?}"));
    assert_eq!(measured.uid(), 0);
}

fn servers_have_few_rights() {
    let folder = tempfile::tempdir().expect("a folder");
    for more in [&[][..], &["--user", "nobody"]] {
        let mut command = unbloat(&["serve", "--listen", "127.0.0.1:0", "--no-echo"]);
        command.args(more).args(["--metrics", "127.0.0.1:0"]);
        command.env("XDG_DATA_HOME", folder.path());
        assert!(becomes_confined(command), "{more:?}");
    }
    assert!(is_in_the_table("`serve`"));
}

/// As the unit of a server does, which ends it for what only the privileged may do.
fn a_unit_that_ends_who_gives_up_rights_serves_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let filtered = || {
        let ended = [
            libc::SYS_capset,
            libc::SYS_seccomp,
            libc::SYS_landlock_create_ruleset,
        ];
        let rules = ended.map(|call| (call, Vec::new())).into();
        let arch = TargetArch::try_from(std::env::consts::ARCH).expect("a known processor");
        let (others, these) = (SeccompAction::Allow, SeccompAction::KillProcess);
        let filter = SeccompFilter::new(rules, others, these, arch).expect("a filter");
        let filter: BpfProgram = filter.try_into().expect("a program");
        seccompiler::apply_filter(&filter).expect("a kernel with seccomp");
        // A child has the filter of this thread.
        let mut command = unbloat(&["serve", "--json", "--no-echo", "--listen", "127.0.0.1:0"]);
        command
            .env("STATE_DIRECTORY", folder.path())
            .env("INVOCATION_ID", "0");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null());
        child.spawn().expect("it starts")
    };
    let started = std::thread::scope(|scope| scope.spawn(filtered).join());
    let mut server = started.expect("a thread");
    let said = server.stdout.take().expect("a pipe");
    let line = BufReader::new(said).lines().next();
    let at: serde_json::Value =
        serde_json::from_str(&line.expect("a line").expect("text")).expect("JSON");
    let address = at["tls"].as_str().expect("an address");
    std::thread::sleep(Duration::from_millis(300));
    assert!(TcpStream::connect(address).is_ok(), "{at}");
    assert!(server.try_wait().expect("a child").is_none());
    server.kill().expect("it runs");
    server.wait().expect("it ends");
}

fn daemons_have_the_capabilities_of_their_units() {
    let of_autorate = CapabilitySet::NET_ADMIN
        | CapabilitySet::NET_RAW
        | CapabilitySet::BPF
        | CapabilitySet::PERFMON;
    let of_monitor = of_autorate | CapabilitySet::SYS_PTRACE | CapabilitySet::DAC_READ_SEARCH;
    let folder = tempfile::tempdir().expect("a folder");
    let mut monitor = unbloat(&["monitor", "--interface", "lo", "--history"]);
    monitor.arg(folder.path().join("history"));
    assert!(becomes(monitor, |thread| has_at_most(thread, of_monitor)));
    let watch = unbloat(&["watch", "--json", "--interface", "lo"]);
    assert!(becomes(watch, |thread| has_at_most(thread, of_monitor)));
    let bed = Bed::new().expect("a bed");
    let host = bed.host("box").expect("a host");
    for words in [
        "link set lo up",
        "link add line type veth peer name modem",
        "link set line up",
        "qdisc add dev lo root handle 1: htb default 1",
        "class add dev lo parent 1: classid 1:1 htb rate 50mbit quantum 1514",
    ] {
        let program = if words.starts_with("link") {
            "ip"
        } else {
            "tc"
        };
        let mut command = host.command(program).expect("a command");
        let done = command.args(words.split(' ')).status();
        assert!(done.expect("it starts").success(), "{words}");
    }
    for words in [
        &["shape", "--interface", "lo", "--rate-up", "50 Mbit/s"][..],
        &["uplink", "--interface", "line"],
    ] {
        let mut command = host
            .command(env!("CARGO_BIN_EXE_unbloat"))
            .expect("a command");
        command.args(words);
        command.env("UNBLOAT_RUN", folder.path().join("run"));
        let is_shape = words[0] == "shape";
        let is_so = |thread: &[String; 4]| {
            has_at_most(thread, of_autorate) && (!is_shape || thread[2] == "2")
        };
        assert!(becomes(command, is_so), "{words:?}");
    }
    let mut autorate = host
        .command(env!("CARGO_BIN_EXE_unbloat"))
        .expect("a command");
    autorate.args(AUTORATE.iter().filter(|word| **word != "--unit"));
    autorate.env("UNBLOAT_RUN", folder.path().join("run"));
    assert!(becomes(autorate, |thread| has_at_most(thread, of_autorate)));
}

fn a_live_capture_is_confined_once_its_socket_is_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("run");
    let run = run.to_str().expect("text");
    let for_time = |duration: &str| {
        let mut command = unbloat(&["analyze", "--interface", "lo", "--quiet", "--out", run]);
        command.args(["--duration", duration]);
        command
    };
    // Longer than it takes to see that a thread is not confined.
    assert!(becomes_confined(for_time("60 s")));
    assert!(is_in_the_table("`analyze --interface"));
    // And it does its work.
    let done = for_time("1 s").output().expect("it starts");
    assert!(done.status.success(), "{done:?}");
    assert!(Path::new(run).join("run.json").exists());
}

/// As `sudo` with another user's HOME would quote it, in the error of its parser.
fn root_does_not_quote_where_a_link_of_another_user_leads() {
    let home = tempfile::tempdir().expect("a folder");
    let secret = home.path().join("secret");
    fs::write(&secret, "root:SECRET").expect("a file");
    fs::create_dir_all(home.path().join(".config/unbloat")).expect("a folder");
    let link = home.path().join(".config/unbloat/config.toml");
    symlink(&secret, &link).expect("a link");
    lchown(&link, Some(65_534), Some(65_534)).expect("root");
    let mut command = unbloat(&["runs", "list"]);
    command
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME");
    let done = command.output().expect("it starts");
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success() && told.contains("belongs to another user"));
    assert!(!told.contains("SECRET"), "{told}");
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
    always() => [
        readers_of_strangers_files_have_few_rights,
        a_unit_that_ends_who_gives_up_rights_serves_on,
    ],
    root("a packet socket, and rights to lose") => [
        a_live_capture_is_confined_once_its_socket_is_open,
        servers_have_few_rights,
        root_does_not_quote_where_a_link_of_another_user_leads,
        who_speaks_with_a_server_has_the_rights_of_the_caller_of_sudo,
        daemons_have_the_capabilities_of_their_units,
    ],
    tools(&["systemd-analyze"]) => [units_have_few_rights],
}
