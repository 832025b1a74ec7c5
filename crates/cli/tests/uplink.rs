//! `unbloat uplink` on a device: alone there, and undone when it is killed. Needs root and tc.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use unbloat_netns::{Bed, Host};
use unbloat_testkit::until;

fn tc(host: &Host, words: &str) -> String {
    let mut command = host.command("tc").unwrap();
    let output = command.args(words.split(' ')).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// A phone with an uplink, and the net behind it.
fn phone() -> (Bed, [Host; 2]) {
    let bed = Bed::new().unwrap();
    let hosts = ["phone", "net"].map(|role| bed.host(role).unwrap());
    hosts[0].veth("wwan0", &hosts[1], "eth0").unwrap();
    (bed, hosts)
}

/// The control of its uplink, with journals in `run` of `folder`.
fn uplink(host: &Host, folder: &Path) -> Command {
    let mut command = host.command(env!("CARGO_BIN_EXE_unbloat")).unwrap();
    command.args(["uplink", "--interface", "wwan0"]);
    command.env("UNBLOAT_RUN", folder.join("run"));
    command.stderr(Stdio::piped());
    command
}

fn a_second_control_is_refused_and_a_killed_one_is_undone_at_once() {
    let (_bed, [host, _other]) = phone();
    let folder = tempfile::tempdir().unwrap();
    let unbloat = || {
        let mut command = uplink(&host, folder.path());
        command.stdout(Stdio::null());
        command
    };
    tc(&host, "qdisc replace dev wwan0 root bfifo limit 30000");
    let state = || tc(&host, "qdisc show dev wwan0");
    let before = state();
    for _ in 0..3 {
        let mut victim: Child = unbloat().spawn().unwrap();
        until("no class", || state().contains("htb"));
        let second = unbloat().output().unwrap();
        let said = String::from_utf8_lossy(&second.stderr);
        assert!(
            !second.status.success() && said.contains("in use by process"),
            "{said}"
        );
        victim.kill().unwrap();
        victim.wait().unwrap();
        until("the class stays", || state() == before);
    }
}

fn a_device_that_goes_or_has_another_name_ends_it_and_is_told() {
    for words in ["link del wwan0", "link set wwan0 name other0"] {
        let (_bed, [host, _other]) = phone();
        let folder = tempfile::tempdir().unwrap();
        let mut command = uplink(&host, folder.path());
        let mut control = command.stdout(Stdio::piped()).spawn().unwrap();
        // It controls once it says so.
        let mut lines = BufReader::new(control.stdout.take().unwrap()).lines();
        lines.next().unwrap().unwrap();
        let mut ip = host.command("ip").unwrap();
        assert!(ip.args(words.split(' ')).status().unwrap().success());
        lines.for_each(drop);
        let output = control.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let told = said.contains("there is no interface \"wwan0\"");
        assert!(!output.status.success() && told, "{said}");
        let left = fs::read_dir(folder.path().join("run")).unwrap();
        assert_eq!(left.count(), 0, "{words}");
    }
}

unbloat_testkit::main! {
    root("changing hosts").and(tools(&["tc"])) => [
        a_second_control_is_refused_and_a_killed_one_is_undone_at_once,
        a_device_that_goes_or_has_another_name_ends_it_and_is_told,
    ],
}
