//! `unbloat autorate` on hosts of its own. Needs root.

use rustix::process::{Pid, Signal, kill_process};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use unbloat_netns::{Bed, Host};
use unbloat_testkit::until;

const FOLLOW: &[&str] = &["autorate", "--interface", "eth0", "--interface-up", "eth0"];
/// Others that would have the same device. FOLDER stands for the one of the test.
const OTHERS: [&[&str]; 4] = [
    FOLLOW,
    &[
        "sqm",
        "apply",
        "--interface",
        "eth0",
        "--rate-down",
        "20 Mbit/s",
        "--rate-up",
        "5 Mbit/s",
        "--qdisc",
        "fifo",
        "--hold",
    ],
    &["uplink", "--interface", "eth0"],
    &["shape", "--interface", "eth0", "--rate-up", "5 Mbit/s"],
];

const AT_WORK: &str = "in use by process";

fn bed() -> (Bed, [Host; 2]) {
    let bed = Bed::new().unwrap();
    let hosts = [bed.host("client").unwrap(), bed.host("server").unwrap()];
    hosts[0].veth("eth0", &hosts[1], "eth0").unwrap();
    (bed, hosts)
}

fn htb(host: &Host) {
    let words = [
        "qdisc replace dev eth0 root handle 1: htb default 1",
        "class add dev eth0 parent 1: classid 1:1 htb rate 7mbit burst 4k",
    ];
    for line in words {
        let status = host.command("tc").unwrap().args(line.split(' ')).status();
        assert!(status.unwrap().success(), "{line}");
    }
}

fn classes(host: &Host) -> String {
    tc(host, "class show dev eth0")
}

fn tc(host: &Host, words: &str) -> String {
    let mut command = host.command("tc").unwrap();
    let output = command.args(words.split(' ')).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn journals(folder: &Path) -> PathBuf {
    folder.join("run")
}

fn unbloat(host: &Host, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = host.command(env!("CARGO_BIN_EXE_unbloat")).unwrap();
    let here = folder.to_str().unwrap();
    let arguments = arguments.iter().map(|word| word.replace("FOLDER", here));
    command.args(arguments).env("UNBLOAT_RUN", journals(folder));
    command
}

/// Starts it, and waits until it has claimed something.
fn started(host: &Host, folder: &Path, arguments: &[&str]) -> Child {
    let mut command = unbloat(host, folder, arguments);
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let is_claimed = || fs::read_dir(journals(folder)).is_ok_and(|list| list.count() > 0);
    until("nothing came of it", is_claimed);
    child
}

fn end(mut child: Child) {
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
}

fn refused(output: &Output, why: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{why}");
    assert!(said.contains(AT_WORK), "{why}: {said}");
}

fn whoever_has_a_device_refuses_whoever_else_would() {
    let (_bed, hosts) = bed();
    htb(&hosts[0]);
    let folder = tempfile::tempdir().unwrap();
    let seen = classes(&hosts[0]);
    let first = started(&hosts[0], folder.path(), FOLLOW);
    until("nothing came of it", || classes(&hosts[0]) != seen);
    for other in OTHERS {
        let output = unbloat(&hosts[0], folder.path(), other).output().unwrap();
        refused(&output, other[0]);
    }
    end(first);
    assert_eq!(classes(&hosts[0]), seen, "rate and burst");
}

fn it_leaves_the_devices_of_others_alone() {
    for other in &OTHERS[1..] {
        let (_bed, hosts) = bed();
        let folder = tempfile::tempdir().unwrap();
        let mut first = started(&hosts[0], folder.path(), other);
        until("nothing came of it", || {
            !classes(&hosts[0]).is_empty() || other[0] == "shape"
        });
        if other[0] == "shape" {
            htb(&hosts[0]);
        }
        // Before its shaper is whole there is another reason to be refused.
        until("nothing came of it", || {
            let output = unbloat(&hosts[0], folder.path(), FOLLOW).output().unwrap();
            assert!(!output.status.success(), "{}", other[0]);
            String::from_utf8_lossy(&output.stderr).contains(AT_WORK)
        });
        // What it changed goes with its host.
        first.kill().unwrap();
        first.wait().unwrap();
    }
}

/// The process that waits for the daemon's end; others of its children come and go.
fn guard_of(daemon: &Child) -> Option<Pid> {
    let pid = daemon.id();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let is_guard = |child: &&str| {
        let name = fs::read_to_string(format!("/proc/{child}/comm"));
        name.is_ok_and(|name| name.trim_end() == "unbloat-guard")
    };
    Pid::from_raw(children.split(' ').find(is_guard)?.parse().ok()?)
}

fn rates_come_back_soon_after_a_kill_and_at_the_next_start_after_two() {
    let (_bed, hosts) = bed();
    htb(&hosts[0]);
    let folder = tempfile::tempdir().unwrap();
    let seen = classes(&hosts[0]);
    let killed = |with_guard: bool| {
        let mut daemon = started(&hosts[0], folder.path(), FOLLOW);
        until("nothing came of it", || classes(&hosts[0]) != seen);
        until("nothing came of it", || guard_of(&daemon).is_some());
        if let Some(guard) = guard_of(&daemon).filter(|_| with_guard) {
            kill_process(guard, Signal::KILL).unwrap();
        }
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    };
    killed(false);
    until("nothing came of it", || classes(&hosts[0]) == seen);
    until("nothing came of it", || {
        fs::read_dir(journals(folder.path())).unwrap().count() == 0
    });
    killed(true);
    assert_ne!(classes(&hosts[0]), seen, "nobody is left to put them back");
    let words = [FOLLOW, &["--duration", "100 ms"]].concat();
    let next = unbloat(&hosts[0], folder.path(), &words).output().unwrap();
    assert!(
        next.status.success(),
        "{}",
        String::from_utf8_lossy(&next.stderr)
    );
    assert_eq!(classes(&hosts[0]), seen);
}

fn run(host: &Host, words: &str) {
    let mut all = words.split(' ');
    let mut command = host.command(all.next().unwrap()).unwrap();
    assert!(command.args(all).status().unwrap().success(), "{words}");
}

fn what_another_program_makes_of_a_shaper_is_seen_soon_and_left_alone() {
    for (change, after) in [
        (
            "tc class change dev eth0 classid 1:1 htb rate 3mbit ceil 3mbit burst 4k",
            "rate 3Mbit",
        ),
        ("tc qdisc del dev eth0 root", ""),
    ] {
        let (_bed, hosts) = bed();
        htb(&hosts[0]);
        let folder = tempfile::tempdir().unwrap();
        let seen = classes(&hosts[0]);
        let daemon = started(&hosts[0], folder.path(), FOLLOW);
        until("nothing came of it", || classes(&hosts[0]) != seen);
        run(&hosts[0], change);
        let output = daemon.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{said}");
        assert!(said.contains("another program changed"), "{said}");
        let now = classes(&hosts[0]);
        assert!(
            now.contains(after) && now.is_empty() == after.is_empty(),
            "{now}"
        );
        let left = fs::read_dir(journals(folder.path())).unwrap().count();
        assert_eq!(left, 0, "{change}");
    }
}

/// Its rate could only be changed without the size table. This kernel may have no cake: tc says that it has one.
fn a_cake_with_a_size_table_is_refused() {
    let (_bed, hosts) = bed();
    let folder = tempfile::tempdir().unwrap();
    run(
        &hosts[0],
        "tc qdisc add dev eth0 root stab overhead 40 linklayer atm bfifo limit 50000",
    );
    let script = "#!/bin/sh\necho \"$@\" >> $(dirname $0)/asked\necho '[{\"kind\":\"cake\",\"root\":true,\"options\":{\"bandwidth\":2500000}}]'\n";
    let tc = folder.path().join("tc");
    fs::write(&tc, script).unwrap();
    fs::set_permissions(&tc, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), env::var("PATH").unwrap());
    let words = [FOLLOW, &["--duration", "100 ms"]].concat();
    let mut command = unbloat(&hosts[0], folder.path(), &words);
    let output = command.env("PATH", path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("eth0"), "{said}");
    let asked = fs::read_to_string(folder.path().join("asked")).unwrap();
    assert!(!asked.contains("change"), "{asked}");
}

fn a_device_whose_packets_have_another_name_is_not_shaped_in_silence() {
    let (_bed, hosts) = bed();
    let folder = tempfile::tempdir().unwrap();
    let words = [OTHERS[3], &["--duration", "100 ms"]].concat();
    let said = || {
        let output = unbloat(&hosts[0], folder.path(), &words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), said)
    };
    run(&hosts[0], "ip link add br0 type bridge");
    run(&hosts[0], "ip link set eth0 master br0");
    let (is_done, why) = said();
    assert!(!is_done && why.contains("--interface br0"), "{why}");
    run(&hosts[0], "ip link set eth0 nomaster");
    run(&hosts[0], "ip link add mv0 link eth0 type macvlan");
    let (is_shaped, beside) = said();
    assert!(is_shaped && beside.contains("traffic of mv0"), "{beside}");
}

fn it_says_where_it_looks_at_packets() {
    let (_bed, hosts) = bed();
    htb(&hosts[0]);
    let folder = tempfile::tempdir().unwrap();
    for tap in ["packets", "bpf"] {
        let words = [FOLLOW, &["--dry-run", "--duration", "100 ms", "--tap", tap]].concat();
        let output = unbloat(&hosts[0], folder.path(), &words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("built without clang") {
            unbloat_testkit::unmet(said);
        }
        assert!(output.status.success(), "{said}");
        assert!(said.contains(&format!("({tap})")), "{said}");
    }
}

/// The unit is started as systemd would: all but its own folder below `/run` cannot be written to.
fn the_unit_may_write_what_it_needs() {
    let unbloat = env!("CARGO_BIN_EXE_unbloat");
    let printed = Command::new(unbloat)
        .args([
            "autorate",
            "--unit",
            "--interface",
            "eth0",
            "--interface-up",
            "eth0",
        ])
        .output()
        .unwrap();
    let unit = String::from_utf8(printed.stdout).unwrap();
    let setting = |name: &str| {
        let mut lines = unit.lines();
        let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        found.map(str::to_owned)
    };
    assert_eq!(setting("ProtectSystem").as_deref(), Some("strict"));
    assert_eq!(setting("RuntimeDirectoryMode").as_deref(), Some("0700"));
    assert_eq!(setting("RuntimeDirectoryPreserve").as_deref(), Some("yes"));
    assert!(setting("CapabilityBoundingSet").is_some());
    // At boot the interface may come later than any number of starts takes.
    assert_eq!(setting("StartLimitIntervalSec").as_deref(), Some("0"));
    let (_bed, hosts) = bed();
    htb(&hosts[0]);
    // What RuntimeDirectory= makes, and what ProtectSystem=strict leaves of the rest, in a mount namespace that ends with the shell.
    let folder = setting("RuntimeDirectory").map_or(String::new(), |name| {
        format!("mkdir -m 700 /run/{name}; mount -t tmpfs -o mode=700 tmpfs /run/{name};")
    });
    // What --unit says of a program in a home folder is not installed here.
    let command = setting("ExecStart").unwrap();
    let command = command.replace("/usr/local/bin/unbloat", unbloat);
    // A kept cure has a journal where the unit may not write.
    let kept = "{\"claim\":{\"resource\":{\"after_boot\":{\"device\":\"eth0\"}},\"pid\":1,\"purpose\":{\"command\":\"fix\"},\"boot\":\"\",\"namespace\":0}}\n\"kept\"\n";
    let kept_folder = tempfile::tempdir().unwrap();
    let journal = kept_folder.path().join("journal");
    fs::write(&journal, kept).unwrap();
    let lasting = format!(
        "mount -t tmpfs tmpfs /var/lib && mkdir -m 700 /var/lib/unbloat && \
         install -m 600 {} /var/lib/unbloat/after-boot-eth0.undo && mount -o remount,ro /var/lib",
        journal.display()
    );
    let script = format!(
        "mount --make-rprivate / && mount -t tmpfs tmpfs /run && {folder} mount -o remount,ro /run && {lasting} && \
         touch /run/x 2>/dev/null && exit 99; exec {command} --duration 300ms"
    );
    let started = hosts[0]
        .command("unshare")
        .unwrap()
        .args(["--mount", "sh", "-c", &script])
        .env_remove("UNBLOAT_RUN")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&started.stderr).into_owned();
    assert_eq!(started.status.code(), Some(0), "{told}");
    assert!(!told.contains("after-boot"), "{told}");
}

fn a_device_that_goes_or_has_another_name_ends_it_and_is_told() {
    for words in ["link set eth0 name wan0", "link del eth0"] {
        let (_bed, hosts) = bed();
        htb(&hosts[0]);
        let folder = tempfile::tempdir().unwrap();
        let seen = classes(&hosts[0]);
        let daemon = started(&hosts[0], folder.path(), FOLLOW);
        until("nothing came of it", || classes(&hosts[0]) != seen);
        let mut ip = hosts[0].command("ip").unwrap();
        assert!(ip.args(words.split(' ')).status().unwrap().success());
        let output = daemon.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{words}");
        assert!(said.contains("there is no network interface"), "{said}");
        let left = fs::read_dir(journals(folder.path())).unwrap().count();
        assert_eq!(left, 0, "{words}");
        let now = tc(&hosts[0], "class show dev wan0");
        assert_eq!(
            now.trim(),
            if words.contains("wan0") {
                seen.trim()
            } else {
                ""
            }
        );
    }
}

fn a_shaper_of_a_device_that_goes_and_comes_again_says_so() {
    let (_bed, hosts) = bed();
    let folder = tempfile::tempdir().unwrap();
    let mut command = unbloat(&hosts[0], folder.path(), OTHERS[3]);
    let mut shaper = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(shaper.stderr.take().unwrap()).lines();
    let mut hears = |words: &str| said.any(|line| line.unwrap().contains(words));
    assert!(hears("until Ctrl-C"));
    for (words, told) in [
        (
            "link set eth0 name wan0",
            "interface \"eth0\" no longer exists",
        ),
        ("link set wan0 name eth0", "eth0 is back"),
    ] {
        let mut ip = hosts[0].command("ip").unwrap();
        assert!(ip.args(words.split(' ')).status().unwrap().success());
        assert!(hears(told), "{told}");
    }
    shaper.kill().unwrap();
    shaper.wait().unwrap();
}

unbloat_testkit::main! {
    root("changing hosts") => [
        whoever_has_a_device_refuses_whoever_else_would,
        it_leaves_the_devices_of_others_alone,
        rates_come_back_soon_after_a_kill_and_at_the_next_start_after_two,
        what_another_program_makes_of_a_shaper_is_seen_soon_and_left_alone,
        a_cake_with_a_size_table_is_refused,
        a_device_whose_packets_have_another_name_is_not_shaped_in_silence,
        it_says_where_it_looks_at_packets,
        the_unit_may_write_what_it_needs,
        a_device_that_goes_or_has_another_name_ends_it_and_is_told,
        a_shaper_of_a_device_that_goes_and_comes_again_says_so,
    ],
}
