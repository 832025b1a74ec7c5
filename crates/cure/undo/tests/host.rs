//! Changes to hosts, undone. Needs root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use unbloat_netns::{Bed, Host};
use unbloat_undo::{Journals, Left, Purpose, Resource, Step, UndoError};

/// Says to a copy of this test that it is to change a host and wait to be killed, and where its journals are.
const VICTIM: &str = "UNBLOAT_UNDO_TEST_VICTIM";
const READY: &str = "ready";

fn queues() -> Resource {
    Resource::Queues {
        device: "eth0".to_owned(),
    }
}

fn purpose(command: &str) -> Purpose {
    Purpose {
        command: command.to_owned(),
        note: "{}".to_owned(),
    }
}

/// Two hosts, joined; the first one's device is what is changed.
fn bed() -> (Bed, [Host; 2]) {
    let bed = Bed::new().unwrap();
    let hosts = [bed.host("client").unwrap(), bed.host("server").unwrap()];
    hosts[0].veth("eth0", &hosts[1], "eth0").unwrap();
    (bed, hosts)
}

fn run(program: &str, arguments: &str) {
    let mut command = Command::new(program);
    let status = command.args(arguments.split_whitespace()).status().unwrap();
    assert!(status.success(), "{program} {arguments}");
}

/// Links and queue disciplines of the thread's namespace, without counters.
fn state() -> String {
    let output = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let links = output("ip", &["-o", "link"]);
    let names: Vec<&str> = links.lines().filter_map(|l| l.split(": ").nth(1)).collect();
    let filters = output("tc", &["filter", "show", "dev", "eth0", "ingress"]);
    format!("{names:?}\n{}\n{filters}", output("tc", &["qdisc"]))
}

/// A shaper in its usual parts.
fn change(journals: &Journals) -> unbloat_undo::Claim {
    let mut claim = journals.take(&queues(), &purpose("a test")).unwrap();
    claim.before(Step::link("ifb4eth0").unwrap()).unwrap();
    run("ip", "link add ifb4eth0 type ifb");
    claim.before(Step::root("eth0").unwrap()).unwrap();
    run("tc", "qdisc replace dev eth0 root handle 1: htb default 1");
    claim.before(Step::ingress("eth0").unwrap()).unwrap();
    run("tc", "qdisc add dev eth0 handle ffff: ingress");
    run(
        "tc",
        "filter add dev eth0 parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev ifb4eth0",
    );
    claim
}

fn a_host_is_as_before_whatever_disciplines_it_had() {
    let (_bed, hosts) = bed();
    let folder = tempfile::tempdir().unwrap();
    let befores = [
        "",
        "root handle 5: tbf rate 10mbit burst 16kb limit 300kb",
        "root pfifo limit 33",
        "root handle 7: bfifo limit 10000",
    ];
    hosts[0]
        .within(|| {
            let journals = Journals::at(folder.path().to_owned()).unwrap();
            for before in befores {
                if !before.is_empty() {
                    run("tc", &format!("qdisc replace dev eth0 {before}"));
                }
                let seen = state();
                let claim = change(&journals);
                assert_ne!(state(), seen);
                claim.undo().unwrap();
                assert_eq!(state(), seen, "{before}");
            }
            drop(change(&journals));
            assert!(!state().contains("ifb4eth0"), "a drop undoes as well");
        })
        .unwrap();
}

fn what_could_not_be_put_back_is_refused_before_anything_is_changed() {
    let (_bed, hosts) = bed();
    let outcome = hosts[0].within(|| {
        run("tc", "qdisc replace dev eth0 root handle 1: htb default 1");
        run("tc", "qdisc add dev eth0 clsact");
        assert!(matches!(Step::root("eth0"), Err(UndoError::CannotSave { kind, .. }) if kind == "htb"));
        assert!(matches!(Step::ingress("eth0"), Err(UndoError::CannotSave { kind, .. }) if kind == "clsact"));
        assert!(matches!(Step::link("eth0"), Err(UndoError::DeviceExists { .. })));
        for name in ["eth1", "", "eth0; reboot", "a name that is too long for a device"] {
            assert!(matches!(Step::root(name), Err(UndoError::NoDevice { .. })), "{name}");
        }
    });
    outcome.unwrap();
}

fn classes_of_an_htb_have_the_rates_again_that_they_had() {
    let (_bed, hosts) = bed();
    let folder = tempfile::tempdir().unwrap();
    let classes = || {
        let mut tc = Command::new("tc");
        let output = tc.args(["class", "show", "dev", "eth0"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let outcome = hosts[0].within(|| {
        let journals = Journals::at(folder.path().to_owned()).unwrap();
        run("tc", "qdisc replace dev eth0 root handle 1: htb default 1");
        run(
            "tc",
            "class add dev eth0 parent 1: classid 1:1 htb rate 7mbit ceil 9mbit burst 4k",
        );
        run(
            "tc",
            "class add dev eth0 parent 1: classid 1:2 htb rate 20gbit",
        );
        run(
            "tc",
            "qdisc add dev eth0 parent 1:1 handle 10: bfifo limit 30000",
        );
        let seen = (classes(), state());
        let mut claim = journals.take(&queues(), &purpose("a test")).unwrap();
        claim.before(Step::classes("eth0").unwrap()).unwrap();
        run(
            "tc",
            "class change dev eth0 classid 1:1 htb rate 150kbit ceil 150kbit",
        );
        run("tc", "class change dev eth0 classid 1:2 htb rate 1mbit");
        run(
            "tc",
            "qdisc change dev eth0 parent 1:1 handle 10: bfifo limit 9000",
        );
        assert_ne!(classes(), seen.0);
        claim.undo().unwrap();
        assert_eq!((classes(), state()), seen);
        let mut gone = journals.take(&queues(), &purpose("a test")).unwrap();
        gone.before(Step::classes("eth0").unwrap()).unwrap();
        run("tc", "qdisc replace dev eth0 root pfifo limit 9");
        gone.undo().unwrap();
        assert_eq!(classes(), "");
    });
    outcome.unwrap();
}

fn a_second_owner_is_told_who_the_first_one_is() {
    let folder = tempfile::tempdir().unwrap();
    let journals = Journals::at(folder.path().to_owned()).unwrap();
    let first = journals.take(&queues(), &purpose("the first")).unwrap();
    match journals.take(&queues(), &purpose("the second")) {
        Err(UndoError::Taken { pid, command, .. }) => {
            assert_eq!((pid, command.as_str()), (std::process::id(), "the first"));
        }
        other => panic!("{other:?}"),
    }
    assert!(journals.recover().unwrap().is_empty(), "it is alive");
    assert!(journals.holdings().unwrap()[0].is_alive);
    first.undo().unwrap();
    drop(journals.take(&queues(), &purpose("the second")).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

fn what_is_kept_lasts_until_it_is_taken_over() {
    let (_bed, hosts) = bed();
    let folder = tempfile::tempdir().unwrap();
    hosts[0]
        .within(|| {
            let journals = Journals::at(folder.path().to_owned()).unwrap();
            let seen = state();
            change(&journals).keep().unwrap();
            assert!(journals.recover().unwrap().is_empty());
            assert!(state().contains("ifb4eth0"));
            let second = journals.take(&queues(), &purpose("another"));
            assert!(matches!(second, Err(UndoError::Kept { command, .. }) if command == "a test"));
            drop(journals.kept(&queues()).unwrap().unwrap());
            assert!(journals.holdings().unwrap()[0].is_kept, "still");
            let kept = journals.kept(&queues()).unwrap().unwrap();
            assert_eq!(kept.purpose().note, "{}");
            kept.undo().unwrap();
            assert_eq!(state(), seen);
            assert!(journals.kept(&queues()).unwrap().is_none());
        })
        .unwrap();
    // In another namespace there is another eth0.
    let elsewhere = hosts[1].within(|| {
        let journals = Journals::at(folder.path().to_owned()).unwrap();
        journals.kept(&queues()).unwrap().is_none()
    });
    assert!(elsewhere.unwrap());
}

fn what_was_kept_and_is_half_undone_is_for_the_next_start() {
    let (_bed, hosts) = bed();
    let folder = tempfile::tempdir().unwrap();
    hosts[0]
        .within(|| {
            let journals = Journals::at(folder.path().to_owned()).unwrap();
            let mut claim = journals.take(&queues(), &purpose("a test")).unwrap();
            // Nobody can delete it: the undoing stops there, as a kill would stop it.
            let name = "lo".to_owned();
            claim.before(Step::Link { name, index: None }).unwrap();
            claim.keep().unwrap();
            let kept = journals.kept(&queues()).unwrap().unwrap();
            assert!(matches!(kept.undo(), Err(UndoError::NotUndone { .. })));
            assert_eq!(journals.recover().unwrap().len(), 1, "it is tried again");
        })
        .unwrap();
}

fn what_a_killed_owner_left_is_undone_at_the_next_start_in_its_namespace() {
    let (_bed, hosts) = bed();
    let folder = tempfile::tempdir().unwrap();
    let seen = hosts[0].within(state).unwrap();
    let mut victim = ready_victim(&hosts[0], folder.path());
    let journals = Journals::at(folder.path().to_owned()).unwrap();
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(
        journals.recover().unwrap().is_empty(),
        "it is not from here"
    );
    hosts[0]
        .within(|| {
            assert_ne!(state(), seen);
            let recovered = journals.recover().unwrap();
            assert_eq!(recovered.len(), 1);
            let Left::Change { resource, pid, .. } = &recovered[0].left else {
                panic!("{recovered:?}");
            };
            assert_eq!((*pid, resource), (victim.id(), &queues()));
            recovered[0].undone.as_ref().unwrap();
            assert_eq!(state(), seen);
        })
        .unwrap();
}

/// `victim` in a process on that host, once it has changed something.
fn ready_victim(host: &Host, folder: &Path) -> Child {
    let victim = host
        .command(std::env::current_exe().unwrap())
        .unwrap()
        .args(["--exact", "victim", "--ignored", "--nocapture"])
        .env(VICTIM, folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !folder.join(READY).exists() {
        sleep(Duration::from_millis(5));
    }
    victim
}

fn victim() {
    let Some(folder) = std::env::var_os(VICTIM) else {
        return;
    };
    let folder = PathBuf::from(folder);
    let _claim = change(&Journals::at(folder.clone()).unwrap());
    fs::write(folder.join(READY), "").unwrap();
    sleep(Duration::from_secs(60));
}

/// The one that could not be read.
fn fault(journals: &Journals) -> UndoError {
    let mut recovered = journals.recover().unwrap();
    assert_eq!(recovered.len(), 1, "{recovered:?}");
    let one = recovered.remove(0);
    assert!(matches!(one.left, Left::Unreadable(_)), "{one:?}");
    one.undone.unwrap_err()
}

fn a_damaged_journal_is_named_and_nothing_of_it_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let journals = Journals::at(folder.path().to_owned()).unwrap();
    let path = folder.path().join("queues-x.undo");
    fs::write(&path, "nonsense\n").unwrap();
    assert!(matches!(
        fault(&journals),
        UndoError::Journal { line: 1, .. }
    ));
    fs::write(&path, vec![b'x'; 2 << 20]).unwrap();
    assert!(matches!(fault(&journals), UndoError::TooLong { .. }));
    assert!(Path::exists(&path));
}

fn one_damaged_journal_keeps_no_other_from_being_undone() {
    let (_bed, hosts) = bed();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.undo"), "nonsense\n").unwrap();
    let mut victim = ready_victim(&hosts[0], folder.path());
    victim.kill().unwrap();
    victim.wait().unwrap();
    let outcome = hosts[0].within(|| {
        let journals = Journals::at(folder.path().to_owned()).unwrap();
        let recovered = journals.recover().unwrap();
        assert_eq!(recovered.len(), 2);
        assert!(recovered[0].undone.is_ok() != recovered[1].undone.is_ok());
        assert!(!state().contains("ifb4eth0"));
        assert!(journals.holdings().unwrap().is_empty());
        drop(journals.take(&queues(), &purpose("the next")).unwrap());
    });
    outcome.unwrap();
}

/// A journal that would write a setting of every kernel's; `mark` says whether it did.
fn planted(path: &Path) {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let boot = boot.trim();
    let head = format!(
        r#"{{"claim":{{"resource":{{"router":{{"target":"x"}}}},"pid":1,"purpose":{{"command":"planted"}},"boot":"{boot}","namespace":0}}}}"#
    );
    let step = r#"{"step":{"setting":{"path":"/proc/sys/net/ipv4/ip_forward","before":"1\n"}}}"#;
    fs::write(path, format!("{head}\n{step}\n")).unwrap();
}

fn mark() -> String {
    fs::read_to_string("/proc/sys/net/ipv4/ip_forward").unwrap()
}

fn what_others_may_have_written_is_not_done() {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    let (_bed, hosts) = bed();
    let outcome = hosts[0].within(|| {
        let before = mark();
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let journals = Journals::at(folder.path().to_owned()).unwrap();
        let path = folder.path().join("x.undo");
        planted(&path);
        chown(&path, Some(65_534), None).unwrap();
        assert!(matches!(fault(&journals), UndoError::Foreign { .. }));
        chown(&path, Some(0), None).unwrap();
        mode(&path, 0o620);
        assert!(matches!(fault(&journals), UndoError::Foreign { .. }));
        mode(&path, 0o600);
        let other = folder.path().join("other");
        fs::hard_link(&path, &other).unwrap();
        assert!(matches!(fault(&journals), UndoError::Foreign { .. }));
        fs::remove_file(&path).unwrap();
        symlink(&other, &path).unwrap();
        fault(&journals);
        assert_eq!(mark(), before);
        fs::remove_file(&path).unwrap();
        fs::rename(&other, &path).unwrap();
        mode(folder.path(), 0o777);
        let open = Journals::at(folder.path().to_owned());
        assert!(matches!(open, Err(UndoError::Foreign { .. })));
        mode(folder.path(), 0o700);
        chown(folder.path(), Some(65_534), None).unwrap();
        let others = Journals::at(folder.path().to_owned());
        assert!(matches!(others, Err(UndoError::Foreign { .. })));
        assert_eq!(mark(), before);
        // The same file where all is well: so the refusals were what kept it from being done.
        chown(folder.path(), Some(0), None).unwrap();
        let ours = Journals::at(folder.path().to_owned()).unwrap();
        ours.recover().unwrap()[0].undone.as_ref().unwrap();
        assert_eq!([before.trim(), mark().trim()], ["0", "1"]);
    });
    outcome.unwrap();
}

fn a_device_has_each_of_its_features_again_as_it_was() {
    use unbloat_os::offload;
    let (_bed, hosts) = bed();
    let folder = tempfile::tempdir().unwrap();
    let outcome = hosts[0].within(|| {
        // One that the switch of all of TCP's segmentation would turn on with the others.
        run("ethtool", "-K eth0 tx-tcp-mangleid-segmentation off");
        // A device of which some can be switched by nobody.
        run("ip", "link add link eth0 name mac0 type macvlan");
        run("ip", "link set dev mac0 gso_max_segs 40");
        let journals = Journals::at(folder.path().to_owned()).unwrap();
        for device in ["eth0", "mac0"] {
            let state = || {
                let features = offload::features(device).unwrap();
                (features, offload::most_segments(device).unwrap())
            };
            let before = state();
            let mut claim = journals.take(&queues(), &purpose("a test")).unwrap();
            claim.before(Step::offloads(device).unwrap()).unwrap();
            for offload in offload::MERGING {
                offload.set(device, false).unwrap();
            }
            offload::set_most_segments(device, 1).unwrap();
            let (features, most) = state();
            assert_ne!(features, before.0, "{device}");
            assert_eq!(most, Some(1), "{device}");
            claim.undo().unwrap();
            assert_eq!(state(), before, "{device}");
        }
    });
    outcome.unwrap();
}

/// Journals of version 2 have switches as on that the device has fixed.
fn a_journal_that_names_what_nobody_can_switch_is_undone() {
    let (_bed, hosts) = bed();
    let folder = tempfile::tempdir().unwrap();
    let outcome = hosts[0].within(|| {
        run("ip", "link add link eth0 name mac0 type macvlan");
        let journals = Journals::at(folder.path().to_owned()).unwrap();
        let mut claim = journals.take(&queues(), &purpose("a test")).unwrap();
        let step = serde_json::to_string(&Step::offloads("mac0").unwrap()).unwrap();
        let old = step.replace(r#""were_on":[]"#, r#""were_on":["tso","gso","gro"]"#);
        assert_ne!(old, step);
        claim.before(serde_json::from_str(&old).unwrap()).unwrap();
        claim.undo().unwrap();
        assert!(journals.recover().unwrap().is_empty());
    });
    outcome.unwrap();
}

unbloat_testkit::main! {
    root("changing hosts") => [
        a_host_is_as_before_whatever_disciplines_it_had,
        what_could_not_be_put_back_is_refused_before_anything_is_changed,
        classes_of_an_htb_have_the_rates_again_that_they_had,
        a_second_owner_is_told_who_the_first_one_is,
        what_is_kept_lasts_until_it_is_taken_over,
        what_was_kept_and_is_half_undone_is_for_the_next_start,
        what_a_killed_owner_left_is_undone_at_the_next_start_in_its_namespace,
        a_damaged_journal_is_named_and_nothing_of_it_is_done,
        one_damaged_journal_keeps_no_other_from_being_undone,
        what_others_may_have_written_is_not_done,
        a_device_has_each_of_its_features_again_as_it_was,
        a_journal_that_names_what_nobody_can_switch_is_undone,
    ],
    on_request() => [
        victim,
    ],
}
