//! Shapers that return after a reboot: only files are left, and what the system would start at its boot is started. systemd-networkd is the
//! real one; `systemctl` is a stand-in that runs the lines of the units. Needs root.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use unbloat_netns::{Bed, Host};
use unbloat_testkit::until;

const LINE: [&str; 4] = ["--rate-down", "20 Mbit/s", "--rate-up", "4 Mbit/s"];
const SHAPER: [&str; 5] = ["apply", "--interface", "eth0", "--qdisc", "fifo"];
const NETWORKD: &str = "/lib/systemd/systemd-networkd";
const NETWORK: &str = "[Match]\nName=eth0\n\n[Network]\nAddress=192.0.2.1/24\nIPv6AcceptRA=no\n";
const UNIT: &str = "unbloat-shaper-eth0.service";
/// What systemd does with the units of these tests: start, stop, and start again at boot.
const SYSTEMCTL: &str = r#"#!/bin/sh
lines() { sed -n "s/^$1=//p" "/etc/systemd/system/$unit"; }
unit=$2
case "$1" in
daemon-reload) ;;
start)
  [ -e "/etc/systemd/system/$unit" ] || exit 5
  while [ -e /run/hang ]; do : >/run/hangs; sleep 0.1; done
  if grep -q '^Type=oneshot' "/etc/systemd/system/$unit"; then
    lines ExecStart | { while read -r line; do sh -c "$line" </dev/null >>/run/log 2>&1 || exit 1; done; } || { tail -n 3 /run/log >&2; exit 1; }
    : >"/run/active-$unit"
  else
    sh -c "exec $(lines ExecStart)" </dev/null >>/run/log 2>&1 &
    echo $! >"/run/active-$unit"
  fi ;;
stop)
  [ -e "/run/active-$unit" ] || exit 5
  read -r pid <"/run/active-$unit"
  rm "/run/active-$unit"
  if [ -n "$pid" ]; then kill "$pid"; while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
  else lines ExecStop | while read -r line; do sh -c "$line" </dev/null >>/run/log 2>&1; done; fi ;;
is-active) [ -e "/run/active-$unit" ] && { read -r pid <"/run/active-$unit"; [ -z "$pid" ] || kill -0 "$pid"; } ;;
esac
"#;

/// Mounts that a command has for itself, with the files of one host.
const ENTER: &str = r#"
mount --make-rprivate /
for it in network system; do mount --bind "$FILES/$it" /etc/systemd/$it; done
mount --bind "$FILES/bin" /usr/local/bin
mount --bind "$FILES/lib" /var/lib
mount --bind "$FILES/run" /run
mount -t sysfs -o ro sysfs /sys
[ ! -d "$FILES/etc" ] || mount --bind "$FILES/etc" /etc
PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin exec "$@"
"#;

/// A host whose files outlast its network.
struct Machine {
    files: tempfile::TempDir,
    wire: Option<(Host, Host, Bed)>,
    networkd: Option<Child>,
}

impl Machine {
    fn new() -> Machine {
        let machine = Machine {
            files: tempfile::tempdir().unwrap(),
            wire: Some(wire()),
            networkd: None,
        };
        for folder in ["network", "system", "bin", "lib", "run/systemd/system"] {
            fs::create_dir_all(machine.path(folder)).unwrap();
        }
        let program = machine.path("bin/unbloat");
        fs::hard_link(env!("CARGO_BIN_EXE_unbloat"), &program)
            .or_else(|_| fs::copy(env!("CARGO_BIN_EXE_unbloat"), &program).map(drop))
            .unwrap();
        fs::write(machine.path("bin/systemctl"), SYSTEMCTL).unwrap();
        for name in ["bin/unbloat", "bin/systemctl"] {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(machine.path(name), mode).unwrap();
        }
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    fn host(&self) -> &Host {
        &self.wire.as_ref().unwrap().0
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.host().command("unshare").unwrap();
        command
            .args(["--mount", "sh", "-euc", ENTER, "sh"])
            .args(words)
            .env("FILES", self.files.path())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    fn sqm(&self, words: &[&str]) -> Output {
        self.run(&[&["unbloat", "sqm"], words].concat())
    }

    fn keep(&self, more: &[&str]) -> Output {
        self.sqm(&[&SHAPER, &LINE[..], &["--keep"], more].concat())
    }

    /// What unbloat and systemd have written, with the texts.
    fn written(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for folder in ["network", "system", "lib/unbloat"] {
            walk(&self.path(folder), &mut found);
        }
        let base = self.files.path().to_str().unwrap().to_owned();
        found
            .into_iter()
            .map(|(path, text)| (path.replace(&base, ""), text))
            .collect()
    }

    /// Disciplines and classes of the device and of its IFB device, and where arriving packets go; no counters, no order of birth.
    fn shaper(&self) -> String {
        let script = "for d in eth0 ifb4eth0; do tc qdisc show dev $d; tc class show dev $d; done 2>/dev/null; \
                      tc filter show dev eth0 ingress | grep -o 'Redirect to device [a-z0-9]*'; \
                      ethtool -k eth0 | grep -E '^generic-'";
        let text = text(&self.run(&["sh", "-c", script]).stdout);
        assert!(text.contains("generic-segmentation-offload"), "{text}");
        let counts = |line: &str| match line.split_once(" direct_packets_stat") {
            Some((before, _)) => before.to_owned(),
            None => line.to_owned(),
        };
        text.lines()
            .map(|line| counts(line) + "\n")
            .collect::<String>()
            .replace("refcnt 3", "refcnt 2")
    }

    fn start_networkd(&mut self) {
        let script = format!(
            "mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp; chown -R systemd-network: /run/systemd/netif; \
             SYSTEMD_LOG_LEVEL=debug exec {NETWORKD} >>/run/networkd.log 2>&1"
        );
        self.networkd = Some(self.command(&["sh", "-c", &script]).spawn().unwrap());
        until("networkd has not read its file", || {
            let said = self.run(&[
                "sh",
                "-c",
                "grep -h NETWORK_FILE= /run/systemd/netif/links/*",
            ]);
            text(&said.stdout).contains("10-wan.network")
        });
    }

    /// The kernel forgets all; what the system starts at its boot is started.
    fn reboot(&mut self) {
        drop(self.wire.take());
        fs::remove_dir_all(self.path("run")).unwrap();
        fs::create_dir_all(self.path("run/systemd/system")).unwrap();
        self.wire = Some(wire());
        let wanted = self.path("system/multi-user.target.wants");
        for link in fs::read_dir(wanted).into_iter().flatten() {
            let name = link.unwrap().file_name();
            let started = self.run(&["systemctl", "start", name.to_str().unwrap()]);
            assert!(started.status.success(), "{}", text(&started.stderr));
        }
    }

    fn end_networkd(&mut self) {
        if let Some(mut networkd) = self.networkd.take() {
            networkd.kill().unwrap();
            networkd.wait().unwrap();
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(mut networkd) = self.networkd.take() {
            let _ = networkd.kill();
            let _ = networkd.wait();
        }
    }
}

fn wire() -> (Host, Host, Bed) {
    let bed = Bed::new().unwrap();
    let [host, other] = ["client", "server"].map(|role| bed.host(role).unwrap());
    host.veth("eth0", &other, "eth0").unwrap();
    (host, other, bed)
}

fn walk(folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.to_str().unwrap().to_owned();
        if path.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            found.insert(name, target.to_str().unwrap().to_owned());
        } else if path.is_dir() {
            walk(&path, found);
        } else {
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn succeeded(output: &Output) -> (String, String) {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    (out, err)
}

/// Dry run, keep, reboot, remove, reboot.
fn a_systemd_unit_brings_a_shaper_back() {
    let mut machine = Machine::new();
    let (before, nothing) = (machine.shaper(), machine.written());
    let (told, _) = succeeded(&machine.keep(&["--dry-run"]));
    assert_eq!(machine.written(), nothing, "a dry run writes nothing");
    assert_eq!(machine.shaper(), before);

    let (_, said) = succeeded(&machine.keep(&[]));
    let last = said.lines().last().unwrap();
    assert!(
        last.ends_with("to remove it: unbloat sqm remove --interface eth0"),
        "{said}"
    );
    let shaped = machine.shaper();
    assert!(
        shaped.contains("htb") && shaped.contains("Redirect to device ifb4eth0"),
        "{shaped}"
    );
    for (path, text) in machine.written() {
        let file = format!("# /etc/systemd{path}\n{text}\n");
        let link = format!("# /etc/systemd{path} -> {text}\n");
        let is_told = told.contains(&file) || told.contains(&link);
        assert!(
            is_told || path.ends_with(".undo") || nothing.contains_key(&path),
            "{path}: {told}"
        );
    }
    assert!(
        machine.written().len() > nothing.len() + 2,
        "{:?}",
        machine.written()
    );
    assert!(!succeeded(&machine.sqm(&["status"])).0.is_empty());
    let again = machine.keep(&[]);
    assert!(
        text(&again.stderr).contains("remove that change first"),
        "{}",
        text(&again.stderr)
    );
    assert_eq!(machine.shaper(), shaped);

    machine.reboot();
    assert_eq!(machine.shaper(), shaped, "after a reboot");
    let (json, _) = succeeded(&machine.sqm(&["status", "--json"]));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["kept"][0]["device"], "eth0", "{json}");
    assert_eq!(json["kept"][0]["plan"]["down_bps"], 19_000_000, "{json}");

    let (_, removed) = succeeded(&machine.sqm(&["remove", "--interface", "eth0"]));
    assert!(
        removed.contains("will not be shaped after a reboot"),
        "{removed}"
    );
    assert_eq!(machine.shaper(), before);
    assert_eq!(machine.written(), nothing, "{removed}");
    machine.reboot();
    assert_eq!(machine.shaper(), before, "after a reboot without files");
}

/// As networkd itself reads them, of disciplines that this kernel may lack, too.
fn networkd_knows_every_word_of_every_plan() {
    for qdisc in ["cake", "fq-codel", "fifo"] {
        let mut machine = Machine::new();
        let given = [
            "plan",
            "--as",
            "networkd",
            "--interface",
            "eth0",
            "--qdisc",
            qdisc,
        ];
        let (plan, _) = succeeded(&machine.sqm(&[&given, &LINE[..]].concat()));
        let mut sections = 0;
        for file in plan.split("# /etc/systemd/").skip(1) {
            let (path, text) = file.split_once('\n').unwrap();
            let path = machine.path(&path.replace("FILE", "10-wan"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            sections += text.matches("Parent=root").count();
        }
        assert!(sections >= 2, "{plan}");
        fs::write(machine.path("network/10-wan.network"), NETWORK).unwrap();
        machine.start_networkd();
        let log = fs::read_to_string(machine.path("run/networkd.log")).unwrap();
        let bad: Vec<&str> = log
            .lines()
            .filter(|line| {
                ["Unknown", "ignoring", "Failed to parse", "Invalid"]
                    .iter()
                    .any(|word| line.contains(word))
            })
            .filter(|line| line.contains("/etc/systemd/network"))
            .collect();
        assert!(bad.is_empty(), "{bad:?}");
        // It would tell.
        machine.end_networkd();
        let more = machine.path("network/10-wan.network.d/60-bad.conf");
        fs::write(more, "[CAKE]\nBandwith=1\n").unwrap();
        machine.start_networkd();
        until("networkd names no unknown key", || {
            let told = fs::read_to_string(machine.path("run/networkd.log")).unwrap();
            told.contains("Unknown key name 'Bandwith'") || told.contains("Unknown key 'Bandwith'")
        });
    }
}

fn systemd_knows_every_word_of_the_units() {
    let machine = Machine::new();
    succeeded(&machine.keep(&[]));
    let path = format!("/etc/systemd/system/{UNIT}");
    let verify = machine.run(&["systemd-analyze", "verify", "--man=no", &path]);
    let said = text(&verify.stderr);
    assert!(!said.contains(UNIT), "{said}");
    let file = machine.path("system").join(UNIT);
    let bad = fs::read_to_string(&file)
        .unwrap()
        .replace("Type=oneshot", "Tipe=oneshot");
    fs::write(&file, bad).unwrap();
    let again = machine.run(&["systemd-analyze", "verify", "--man=no", &path]);
    assert!(text(&again.stderr).contains("Tipe"), "it would tell");
}

fn files_of_others_are_neither_overwritten_nor_removed() {
    let machine = Machine::new();
    let before = machine.shaper();
    let unit = machine.path("system").join(UNIT);
    fs::write(&unit, "theirs").unwrap();
    let refused = machine.keep(&[]);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains(UNIT) && said.contains("move it away"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&unit).unwrap(), "theirs");
    assert_eq!(machine.shaper(), before);
    fs::remove_file(&unit).unwrap();

    succeeded(&machine.keep(&[]));
    let (ours, shaped) = (fs::read_to_string(&unit).unwrap(), machine.shaper());
    fs::write(&unit, format!("{ours}# a note of the user's\n")).unwrap();
    let all = machine.written();
    let kept = machine.sqm(&["remove", "--interface", "eth0"]);
    let why = text(&kept.stderr);
    assert_eq!(kept.status.code(), Some(1), "{why}");
    assert!(
        why.contains("was changed since unbloat wrote it") && why.contains("mv "),
        "{why}"
    );
    assert_eq!((machine.written(), machine.shaper()), (all, shaped));
    let (status, _) = succeeded(&machine.sqm(&["status"]));
    assert!(status.contains("changed since"), "{status}");
    fs::rename(&unit, machine.path("mine")).unwrap();
    // Whatever the user has put beside it stays.
    let beside = machine.path("system/multi-user.target.wants/other.service");
    fs::write(&beside, "").unwrap();
    succeeded(&machine.sqm(&["remove", "--interface", "eth0"]));
    assert_eq!(machine.shaper(), before);
    assert_eq!(
        machine.written().into_keys().collect::<Vec<_>>(),
        ["/system/multi-user.target.wants/other.service"]
    );
}

/// Killed while systemd starts the unit: with its guard, and without.
fn a_killed_command_leaves_no_file() {
    let machine = Machine::new();
    let before = (machine.shaper(), machine.written());
    let hang = machine.path("run/hang");
    let begin = || {
        let hangs = machine.path("run/hangs");
        let _ = fs::remove_file(&hangs);
        fs::write(&hang, "").unwrap();
        let words = [&["unbloat", "sqm"], &SHAPER[..], &LINE[..], &["--keep"]].concat();
        let child = machine
            .command(&words)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until("the unit is not started", || hangs.exists());
        assert!(machine.path("system").join(UNIT).exists() && guard(&child).is_some());
        child
    };
    let mut child = begin();
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(&hang).unwrap();
    until("files stay", || machine.written() == before.1);
    assert_eq!(machine.shaper(), before.0);

    let mut alone = begin();
    kill_process(guard(&alone).unwrap(), Signal::KILL).unwrap();
    alone.kill().unwrap();
    alone.wait().unwrap();
    fs::remove_file(&hang).unwrap();
    until("the unit's shaper is not there", || {
        machine.shaper() != before.0
    });
    assert!(
        machine.path("system").join(UNIT).exists(),
        "nobody is left to undo it"
    );
    let (_, said) = succeeded(&machine.sqm(&["status"]));
    assert!(said.contains("undone"), "{said}");
    assert_eq!((machine.shaper(), machine.written()), before);
}

/// The second process, which undoes what the first one leaves.
fn guard(child: &Child) -> Option<Pid> {
    let pid = child.id();
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    listed.split_whitespace().find_map(|its| {
        let name = fs::read_to_string(format!("/proc/{its}/comm")).ok()?;
        name.starts_with("unbloat")
            .then_some(Pid::from_raw(its.parse().ok()?)?)
    })
}

/// On the router itself; `uci` writes down what it is told.
fn openwrt_keeps_it_in_its_own_configuration() {
    const CONFIG: &str = "config queue 'eth1'\n\toption enabled '0'\n";
    const UCI: &str = "#!/bin/sh\ncase \"$1\" in\nbatch) cat >/etc/delta ;;\ncommit) cat /etc/delta >>/etc/config/sqm; rm /etc/delta ;;\nrevert) rm -f /etc/delta ;;\nesac\n";
    let machine = Machine::new();
    for folder in ["etc/config", "etc/init.d"] {
        fs::create_dir_all(machine.path(folder)).unwrap();
    }
    let config = || fs::read_to_string(machine.path("etc/config/sqm")).unwrap();
    fs::write(machine.path("etc/config/sqm"), CONFIG).unwrap();
    for (name, text) in [("bin/uci", UCI), ("etc/init.d/sqm", "#!/bin/sh\n")] {
        fs::write(machine.path(name), text).unwrap();
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(machine.path(name), mode).unwrap();
    }
    let given = ["apply", "--interface", "eth0", "--qdisc", "cake", "--keep"];
    let given = [&given, &LINE[..]].concat();
    let (told, why) = succeeded(&machine.sqm(&[&given[..], &["--dry-run"]].concat()));
    assert!(why.contains("OpenWrt's sqm-scripts"), "{why}");
    assert!(
        told.starts_with("# /etc/config/sqm\n") && told.contains("option download '19000'"),
        "{told}"
    );
    assert_eq!(config(), CONFIG);
    let (_, said) = succeeded(&machine.sqm(&given));
    assert!(
        said.ends_with("to remove it: unbloat sqm remove --interface eth0\n"),
        "{said}"
    );
    assert!(
        config().contains("set sqm.unbloat_eth0.download='19000'"),
        "{}",
        config()
    );
    let (_, removed) = succeeded(&machine.sqm(&["remove", "--interface", "eth0"]));
    assert!(
        removed.contains("will not be shaped after a reboot"),
        "{removed}"
    );
    assert_eq!(config(), CONFIG);
}

fn a_program_that_others_can_replace_is_not_started_by_root() {
    let machine = Machine::new();
    let loose = fs::Permissions::from_mode(0o777);
    fs::set_permissions(machine.path("bin"), loose).unwrap();
    let refused = machine.keep(&[]);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains("can be written by other users") && said.contains("sudo install"),
        "{said}"
    );
    assert!(machine.written().is_empty());
}

fn networkd() -> Result<(), String> {
    match Path::new(NETWORKD).exists() {
        true => Ok(()),
        false => Err(format!("there is no {NETWORKD}")),
    }
}

unbloat_testkit::main! {
    root("hosts with mounts of their own").and(tools(&["tc", "ethtool", "unshare"])) => [
        a_systemd_unit_brings_a_shaper_back,
        files_of_others_are_neither_overwritten_nor_removed,
        a_killed_command_leaves_no_file,
        a_program_that_others_can_replace_is_not_started_by_root,
        openwrt_keeps_it_in_its_own_configuration,
    ],
    root("hosts with mounts of their own").and(tools(&["tc", "ethtool", "systemd-analyze"])).and(check(networkd)) => [
        networkd_knows_every_word_of_every_plan,
        systemd_knows_every_word_of_the_units,
    ],
}
