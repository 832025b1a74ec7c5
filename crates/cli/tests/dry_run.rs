//! `--dry-run` says what a command would do, and changes nothing. Needs root for a host of its own.

use std::path::Path;
use std::process::{Command, Output};
use unbloat_netns::{Bed, Host};

const UNBLOAT: &str = env!("CARGO_BIN_EXE_unbloat");

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
        host.veth("wan0", &other, "eth0").unwrap();
        Router {
            host,
            _other: other,
            _bed: bed,
            journals: tempfile::tempdir().unwrap(),
        }
    }

    fn unbloat(&self, words: &[&str]) -> Output {
        let mut command: Command = self.host.command(UNBLOAT).unwrap();
        command.args(words).env("UNBLOAT_RUN", self.journals.path());
        command.output().unwrap()
    }

    /// What the commands could change: queues, rules, settings, control groups, journals.
    fn state(&self) -> String {
        let script = "tc qdisc show; tc class show dev wan0; tc filter show dev wan0; ip -o link; \
                      nft list ruleset 2>&1; \
                      find /sys/fs/cgroup -name 'unbloat-*' 2>&1";
        let mut shell = self.host.command("sh").unwrap();
        let output = shell.args(["-c", script]).output().unwrap();
        let state = String::from_utf8(output.stdout).unwrap();
        assert!(state.contains("wan0"), "{state}");
        format!("{state}{:?}", files(self.journals.path()))
    }

    /// What the command says that it would do.
    fn would(&self, words: &[&str]) -> String {
        let before = self.state();
        let output = self.unbloat(&[words, &["--dry-run"]].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {errors}");
        assert_eq!(self.state(), before, "{words:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

fn files(folder: &Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    names
}

fn shape_names_its_rules_and_rates() {
    let router = Router::build();
    let words = ["shape", "--interface", "wan0", "--rate-down", "19 Mbit/s"];
    let told = router.would(&words);
    assert!(told.contains("iifname \"wan0\" queue"), "{told}");
    assert!(told.contains("19.00 Mbit/s"), "{told}");
    assert!(!told.contains("oifname"), "{told}");
    let both = router.would(&["shape", "--interface", "wan0", "--follow", "--json"]);
    let both: serde_json::Value = serde_json::from_str(&both).unwrap();
    assert_eq!(both["would"].as_array().unwrap().len(), 2);
}

fn uplink_names_its_commands() {
    let router = Router::build();
    let told = router.would(&["uplink", "--interface", "wan0"]);
    for step in [
        "tc qdisc del dev wan0 root\n",
        "tc qdisc add dev wan0 root handle 1: htb default 1\n",
    ] {
        assert!(told.contains(step), "{told}");
    }
}

fn drwa_names_its_programs() {
    let router = Router::build();
    let told = router.would(&["drwa", "--lan", "wan0"]);
    assert!(told.contains("attach BPF programs to wan0"), "{told}");
    let mut command: Command = router.host.command(UNBLOAT).unwrap();
    command.args(["drwa", "--dry-run", "--", "touch", "made"]);
    let output = command
        .current_dir(router.journals.path())
        .output()
        .unwrap();
    let steps = String::from_utf8_lossy(&output.stdout);
    if String::from_utf8_lossy(&output.stderr).contains("no cgroup2 file system") {
        unbloat_testkit::unmet("no cgroup2 file system");
    }
    assert!(steps.contains(": touch made\n"), "{output:?}");
    assert_eq!(files(router.journals.path()).len(), 0);
}

fn sqm_names_its_commands_and_what_it_would_restore() {
    let router = Router::build();
    let line = [
        "--interface",
        "wan0",
        "--rate-up",
        "5 Mbit/s",
        "--qdisc",
        "fifo",
    ];
    let apply = [&["sqm", "apply"], &line[..]].concat();
    let remove = ["sqm", "remove", "--interface", "wan0"];
    assert!(router.would(&apply).contains("tc qdisc"));
    assert_eq!(router.would(&remove), "");
    let applied = router.unbloat(&apply);
    assert!(applied.status.success(), "{applied:?}");
    assert_eq!(
        router.would(&remove),
        "restore the previous configuration of wan0\n"
    );
    assert!(router.unbloat(&remove).status.success());
}

unbloat_testkit::main! {
    root("a host of its own") => [
        shape_names_its_rules_and_rates,
        uplink_names_its_commands,
        drwa_names_its_programs,
        sqm_names_its_commands_and_what_it_would_restore,
    ],
}
