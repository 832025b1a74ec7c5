//! `unbloat sqm` as its users run it. What changes hosts needs root.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;
use unbloat_netns::{Bed, Host, Route, Tun};
use unbloat_responsiveness::{LoadedDirection, SCHEMA, verdict};
use unbloat_testkit::until;
use unbloat_units::{Delta, Direction, Rate};

const LINE: [&str; 4] = ["--rate-down", "20 Mbit/s", "--rate-up", "4 Mbit/s"];
const CONFIG: &str = "config queue 'wan'\n option enabled 1\n option interface eth0\n option download 21000\n option upload 3800\n option qdisc cake\n option script piece_of_cake.qos\n option linklayer atm\n option overhead 44\n";

fn sqm(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unbloat"));
    command.arg("sqm").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn a_plan_is_told_in_the_words_that_are_asked_for() {
    let plan = |more: &[&str]| {
        let given = [
            "plan",
            "--interface",
            "eth0",
            "--qdisc",
            "cake",
            "--line",
            "atm",
        ];
        let output = sqm(&[&given[..], &LINE[..], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let tc = plan(&[]);
    assert!(tc.contains("dev eth0 root cake bandwidth 3800000bit besteffort"));
    assert!(
        tc.lines()
            .all(|l| l.starts_with("tc ") || l.starts_with("ip "))
    );
    assert!(plan(&["--as", "uci"]).contains("\toption download '19000'\n"));
    assert!(plan(&["--as", "networkd"]).contains("OverheadBytes=44"));
    let json: Value = serde_json::from_str(&plan(&["--json"])).unwrap();
    assert_eq!(json["plan"]["up_bps"], 3_800_000);
    assert_eq!(json["commands"][0][0], "tc");
    // For a router elsewhere, the qdiscs of this kernel do not count.
    let words = ["plan", "--interface", "wan", "--as", "uci"];
    let output = sqm(&[&words[..], &LINE[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("\toption qdisc 'cake'\n"));
}

fn a_configuration_is_judged_and_the_exit_code_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sqm");
    fs::write(&file, CONFIG).unwrap();
    let path = file.to_str().unwrap();
    let output = sqm(&[&["check", path, "--json"][..], &LINE[..]].concat());
    assert_eq!(output.status.code(), Some(4));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["findings"][0]["option"], "download");
    fs::write(&file, CONFIG.replace("21000", "19000")).unwrap();
    let good = sqm(&[&["check", path][..], &LINE[..]].concat());
    assert_eq!(
        (good.status.code(), text(&good.stdout).as_str()),
        (Some(0), "no errors found\n")
    );
    fs::write(&file, "config queue\n option a 'b\n").unwrap();
    let cut = sqm(&["check", path]);
    assert!(text(&cut.stderr).contains("line 2: unclosed quote"));
}

fn forwarding_in_hardware_is_found_in_the_firewall_beside() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sqm");
    fs::write(&file, CONFIG.replace("21000", "19000")).unwrap();
    let firewall = |hardware: &str| {
        let text = format!(
            "config defaults\n option flow_offloading '1'\n option flow_offloading_hw '{hardware}'\n"
        );
        fs::write(folder.path().join("firewall"), text).unwrap();
        sqm(&[&["check", file.to_str().unwrap()][..], &LINE[..]].concat())
    };
    assert_eq!(firewall("0").status.code(), Some(0));
    let found = firewall("1");
    assert_eq!(found.status.code(), Some(4));
    let said = text(&found.stdout);
    assert!(
        said.contains("past the shaper") && said.contains("flow_offloading_hw=0"),
        "{said}"
    );
}

/// Two ways out; the test ran by the one that is not that of the default route.
fn the_rates_of_a_test_are_for_the_device_by_which_it_ran() {
    let bed = Bed::new().unwrap();
    let [host, near, far] = ["host", "near", "far"].map(|role| bed.host(role).unwrap());
    host.veth("wan0", &near, "eth0").unwrap();
    host.veth("wwan0", &far, "eth0").unwrap();
    host.address("wan0", "10.9.1.1/24".parse().unwrap())
        .unwrap();
    host.address("wwan0", "10.9.2.1/24".parse().unwrap())
        .unwrap();
    let _tun = host.tun("tun0", &Tun::default()).unwrap();
    host.address("tun0", "10.9.3.1/24".parse().unwrap())
        .unwrap();
    let to = Route::Gateway([10, 9, 1, 2].into());
    host.route("0.0.0.0/0".parse().unwrap(), to).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.json");
    let plan = |server: &str, qdisc: &str| {
        let load = LoadedDirection {
            direction: Direction::Up,
            delivered: Rate::mbps(10),
            line: Rate::kbps(10_359),
            is_steady: true,
            added: Delta::ms(240),
            added_p95: Delta::ms(240),
            idle_rtt: Delta::ms(160),
            unsent: None,
            is_starved: false,
            located: None,
        };
        let verdict = serde_json::to_value(verdict(vec![load], Vec::new())).unwrap();
        let document = serde_json::json!({
            "schema": SCHEMA, "target": "https://box:4043/.well-known/nq", "is_cut": false,
            "server": {"address": format!("{server}:4043")}, "verdict": verdict,
        });
        fs::write(&file, document.to_string()).unwrap();
        let words = ["plan", "--qdisc", qdisc, "--line", "atm", "--test"];
        let words = [&words[..], &[file.to_str().unwrap()]].concat();
        let output = on(&host, folder.path(), &words);
        assert!(output.status.success(), "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    assert!(plan("203.0.113.1", "fifo").0.contains("dev wan0 root"));
    let (commands, said) = plan("10.9.2.7", "fifo");
    assert!(commands.contains("dev wwan0 root"), "{commands}");
    assert!(commands.contains("overhead 30"), "{commands}");
    assert!(!said.contains("tunnel"), "{said}");
    let (raw, beside) = plan("10.9.3.7", "fifo");
    assert!(raw.contains("dev tun0 root"), "{raw}");
    assert!(raw.contains("overhead 44"), "raw IP: {raw}");
    assert!(beside.contains("tun0 is a tunnel"), "{beside}");
    let (told, _) = plan("10.9.2.7", "cake");
    assert!(told.contains("rtt 160000us"), "{told}");
}

fn names_that_a_shell_would_read_are_usage_errors() {
    for name in ["eth0;reboot", "$(reboot)", "-x", "a b"] {
        let output = sqm(&["remove", &format!("--interface={name}")]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        let there = sqm(&["status", &format!("--router={name}")]);
        assert_eq!(there.status.code(), Some(2), "{name}");
    }
}

fn state(host: &Host) -> String {
    let said = |program: &str, words: &str| {
        let mut command = host.command(program).unwrap();
        text(&command.args(words.split(' ')).output().unwrap().stdout)
    };
    let links = said("ip", "-o link");
    let names: Vec<&str> = links.lines().filter_map(|l| l.split(": ").nth(1)).collect();
    format!("{names:?}{}", said("tc", "qdisc"))
}

fn on(host: &Host, journals: &Path, arguments: &[&str]) -> Output {
    let mut command = host.command(env!("CARGO_BIN_EXE_unbloat")).unwrap();
    command
        .arg("sqm")
        .args(arguments)
        .env("UNBLOAT_RUN", journals);
    command.stdin(std::process::Stdio::null()).output().unwrap()
}

fn what_is_applied_is_seen_and_removed() {
    let (_bed, hosts) = line();
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| on(&hosts[0], folder.path(), arguments);
    let given = ["--interface", "eth0", "--qdisc", "fifo"];
    let apply = |more: &[&str]| run(&[&["apply"][..], &given[..], &LINE[..], more].concat());
    let before = state(&hosts[0]);

    let dry = apply(&["--dry-run"]);
    assert!(
        text(&dry.stdout).contains("htb default 1"),
        "{}",
        text(&dry.stderr)
    );
    assert_eq!(state(&hosts[0]), before);

    // Nobody presses Enter: standard input is at its end.
    let unconfirmed = apply(&["--confirm", "20s"]);
    assert_eq!(unconfirmed.status.code(), Some(4));
    assert_eq!(state(&hosts[0]), before);

    let kept = apply(&[]);
    assert!(kept.status.success(), "{}", text(&kept.stderr));
    let second = apply(&[]);
    assert!(text(&second.stderr).contains("remove that change first"));
    let seen: Value = serde_json::from_slice(&run(&["status", "--json"]).stdout).unwrap();
    assert_eq!(seen["devices"][0]["queues"][0]["kind"], "htb");
    assert_eq!(seen["devices"][0]["plan"]["down_bps"], 19_000_000);
    let removed = run(&["remove", "--interface", "eth0"]);
    assert!(removed.status.success(), "{}", text(&removed.stderr));
    assert_eq!(state(&hosts[0]), before);
}

/// Two hosts with a wire between them, `eth0` at either.
fn line() -> (Bed, [Host; 2]) {
    let bed = Bed::new().unwrap();
    let hosts = ["client", "server"].map(|role| bed.host(role).unwrap());
    hosts[0].veth("eth0", &hosts[1], "eth0").unwrap();
    (bed, hosts)
}

fn apply(host: &Host, journals: &Path) -> Command {
    let mut command = host.command(env!("CARGO_BIN_EXE_unbloat")).unwrap();
    command.args(["sqm", "apply", "--interface", "eth0", "--qdisc", "fifo"]);
    command.args(LINE).env("UNBLOAT_RUN", journals);
    command
}

fn tell(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn nothing_stays_of_a_shaper_that_is_held_whatever_ends_it() {
    let (_bed, hosts) = line();
    let folder = tempfile::tempdir().unwrap();
    let before = state(&hosts[0]);
    let journals = || fs::read_dir(folder.path()).unwrap().count();
    for signals in [&[Signal::INT; 2][..], &[Signal::HUP; 2], &[Signal::KILL]] {
        let mut command = apply(&hosts[0], folder.path());
        command.arg("--hold");
        let mut held = command.stderr(Stdio::null()).spawn().unwrap();
        until("nothing is shaped", || state(&hosts[0]) != before);
        for signal in signals {
            tell(&held, *signal);
            // Sooner is the same press.
            sleep(Duration::from_millis(150));
        }
        held.wait().unwrap();
        until("it stays", || state(&hosts[0]) == before && journals() == 0);
    }
}

fn a_shaper_that_was_to_last_does_not_where_it_is_stopped_before_it_stands() {
    let (_bed, hosts) = line();
    let folder = tempfile::tempdir().unwrap();
    // A tc that is slow, so that the request comes before the shaper stands.
    let slow = folder.path().join("tc");
    fs::write(&slow, "#!/bin/sh\nsleep 0.5\nexec \"$TC\" \"$@\"\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&slow, mode).unwrap();
    let path = std::env::var("PATH").unwrap();
    let tc = path.split(':').map(|place| Path::new(place).join("tc"));
    let tc = tc.into_iter().find(|tc| tc.exists()).unwrap();
    let journals = folder.path().join("run");
    let before = state(&hosts[0]);
    let mut command = apply(&hosts[0], &journals);
    command.env("TC", tc);
    command.env("PATH", format!("{}:{path}", folder.path().display()));
    let applied = command.stderr(Stdio::piped()).spawn().unwrap();
    until("nothing is claimed", || {
        fs::read_dir(&journals).is_ok_and(|mut list| list.next().is_some())
    });
    tell(&applied, Signal::TERM);
    let output = applied.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(state(&hosts[0]), before);
}

fn a_shaper_that_somebody_replaces_is_held_no_longer() {
    let (_bed, hosts) = line();
    let folder = tempfile::tempdir().unwrap();
    let before = state(&hosts[0]);
    // As a restart of networkd does it.
    let words = "qdisc replace dev eth0 root handle 9: pfifo limit 50";
    let mut command = apply(&hosts[0], folder.path());
    command.arg("--hold");
    let mut held = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(held.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("until Ctrl-C")));
    let mut tc = hosts[0].command("tc").unwrap();
    assert!(tc.args(words.split(' ')).status().unwrap().success());
    assert!(said.any(|line| line.unwrap().contains("eth0 is no longer shaped")));
    assert_eq!(held.wait().unwrap().code(), Some(1));
    assert_eq!(state(&hosts[0]), before);
}

unbloat_testkit::main! {
    always() => [
        a_plan_is_told_in_the_words_that_are_asked_for,
        a_configuration_is_judged_and_the_exit_code_says_so,
        forwarding_in_hardware_is_found_in_the_firewall_beside,
        names_that_a_shell_would_read_are_usage_errors,
    ],
    root("a shaper") => [
        what_is_applied_is_seen_and_removed,
        the_rates_of_a_test_are_for_the_device_by_which_it_ran,
        nothing_stays_of_a_shaper_that_is_held_whatever_ends_it,
        a_shaper_that_was_to_last_does_not_where_it_is_stopped_before_it_stands,
        a_shaper_that_somebody_replaces_is_held_no_longer,
    ],
}
