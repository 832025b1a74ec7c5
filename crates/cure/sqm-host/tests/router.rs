//! Routers behind programs that stand for ssh: one that works, and others. Needs root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard};
use std::thread::sleep;
use std::time::Duration;
use unbloat_netns::{Bed, Host};
use unbloat_os::offload::features;
use unbloat_sqm::{Device, Plan, Qdisc, check};
use unbloat_sqm_host::{Kind, Router, ShaperError};
use unbloat_testkit::until;
use unbloat_units::{Both, Framing, Rate};

const CONFIG: &str = "config queue 'eth1'\n\toption enabled '0'\n\toption interface 'eth1'\n";

/// A program that was just written cannot be started while another test's child still has it open.
static TURN: Mutex<()> = Mutex::new(());

struct World {
    folder: tempfile::TempDir,
    hosts: [Host; 2],
    _bed: Bed,
    _turn: MutexGuard<'static, ()>,
}

impl World {
    fn new() -> World {
        let turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let bed = Bed::new().unwrap();
        let hosts = [bed.host("router").unwrap(), bed.host("provider").unwrap()];
        hosts[0].veth("eth0", &hosts[1], "eth0").unwrap();
        World {
            folder: tempfile::tempdir().unwrap(),
            hosts,
            _bed: bed,
            _turn: turn,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A router reached by a program of this text; `$ENTER` runs a command in the router.
    fn router(&self, text: &str) -> Router {
        let enter = format!("ip netns exec {}", self.hosts[0].name());
        let script = format!("#!/bin/sh\nENTER='{enter}'\n{text}\n");
        let ssh = executable(&self.path("ssh"), &script);
        Router::new("root@router".parse().unwrap())
            .by(ssh)
            .state_in(self.folder.path().to_str().unwrap())
            .times(Duration::from_secs(15), Duration::from_secs(2))
    }

    fn tell(&self, words: &str) {
        let name = self.hosts[0].name();
        let mut command = Command::new("ip");
        let told = command.args(["netns", "exec", name]).args(words.split(' '));
        assert!(told.status().unwrap().success(), "{words}");
    }

    fn state(&self) -> String {
        let said = |words: &str| {
            let mut command = Command::new("ip");
            let name = self.hosts[0].name();
            let output = command
                .args(["netns", "exec", name])
                .args(words.split(' '))
                .output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        };
        let links = said("ip -o link");
        let names: Vec<&str> = links.lines().filter_map(|l| l.split(": ").nth(1)).collect();
        let device = device();
        let features = self.hosts[0].within(|| features(device.as_str()).unwrap());
        let entry = said("tc filter show dev lan0 ingress");
        let link = said("ip -d link show dev eth0");
        format!(
            "{names:?}{:?}{link}{}{entry}",
            features.unwrap(),
            said("tc qdisc")
        )
    }
}

fn executable(path: &Path, text: &str) -> PathBuf {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_owned()
}

fn device() -> Device {
    "eth0".parse().unwrap()
}

fn plan(qdisc: Qdisc) -> Plan {
    let rates = Both::new(Some(Rate::mbps(19)), Some(Rate::mbps(4)));
    Plan::new(device(), rates, Framing::ATM, qdisc).unwrap()
}

fn a_linux_router_is_shaped_looked_at_and_as_before() {
    let world = World::new();
    let router = world.router("exec $ENTER sh -s");
    // One that the switch of all of TCP's segmentation would turn on with the others.
    let mut ethtool = world.hosts[0].command("ethtool").unwrap();
    let one_off = ["-K", "eth0", "tx-tcp-mangleid-segmentation", "off"];
    assert!(ethtool.args(one_off).status().unwrap().success());
    let before = world.state();
    let look = router.look().unwrap();
    assert_eq!(look.kind, Kind::Linux);
    assert!(look.offered.iter().any(|q| q == "htb"), "{look:?}");
    assert_eq!(world.state(), before, "a look changes nothing");
    router.apply(&look, &plan(Qdisc::Fifo)).unwrap();
    sleep(Duration::from_millis(2500));
    let (is_ours, queues) = router.status(look.kind, &device()).unwrap();
    assert!(is_ours, "it is confirmed, and stays");
    assert!(
        queues
            .iter()
            .any(|q| q.device == "ifb4eth0" && q.kind == "htb"),
        "{queues:?}"
    );
    let second = router.apply(&look, &plan(Qdisc::Fifo));
    assert!(
        matches!(second, Err(ShaperError::Router { .. })),
        "{second:?}"
    );
    assert!(router.remove(look.kind, &device()).unwrap());
    assert_eq!(world.state(), before);
    assert!(!router.remove(look.kind, &device()).unwrap());
}

fn a_router_takes_back_what_nobody_could_confirm() {
    let world = World::new();
    let look = world.router("exec $ENTER sh -s").look().unwrap();
    // The first connection works, the next ones do not.
    let router = world.router("[ -e \"$0.used\" ] && exit 255\n: >\"$0.used\"\nexec $ENTER sh -s");
    let before = world.state();
    let lost = router.apply(&look, &plan(Qdisc::Fifo));
    assert!(
        matches!(lost, Err(ShaperError::LostContact { .. })),
        "{lost:?}"
    );
    assert_ne!(world.state(), before, "it is shaped for now");
    until("it is shaped as it was", || world.state() == before);
    assert!(!world.path("unbloat-sqm-eth0").exists());
}

fn what_a_router_refuses_changes_nothing() {
    let world = World::new();
    let router = world.router("exec $ENTER sh -s");
    let look = router.look().unwrap();
    let before = world.state();
    let elsewhere = Plan {
        device: "eth7".parse().unwrap(),
        ..plan(Qdisc::Fifo)
    };
    for plan in [elsewhere, plan(Qdisc::Cake)] {
        if let Err(error) = router.apply(&look, &plan) {
            assert!(matches!(error, ShaperError::Router { .. }), "{error:?}");
            assert_eq!(world.state(), before);
        }
    }
}

/// Has what arrives on another device sent to `ifb`.
fn others_ifb(world: &World, ifb: &str) {
    world.tell("ip link add lan0 type veth peer name lan1");
    world.tell(&format!("ip link add {ifb} type ifb"));
    world.tell("tc qdisc add dev lan0 clsact");
    world.tell(&format!(
        "tc filter add dev lan0 ingress protocol all u32 match u32 0 0 action mirred egress redirect dev {ifb}"
    ));
}

fn an_ifb_of_others_is_named_and_left_alone() {
    let world = World::new();
    let router = world.router("exec $ENTER sh -s");
    let look = router.look().unwrap();
    others_ifb(&world, "ifb4eth0");
    let before = world.state();
    let expected = "root@router: what arrives on eth0 cannot be shaped by the kernel: ifb4eth0 exists already, and what arrives on lan0 is sent there; ";
    for refused in [
        router.check(look.kind, &plan(Qdisc::Fifo)),
        router.apply(&look, &plan(Qdisc::Fifo)),
    ] {
        let said = refused.unwrap_err().to_string();
        assert!(said.starts_with(expected), "{said}");
        assert!(
            said.contains("--rate-up") && !said.contains("del"),
            "{said}"
        );
        assert_eq!(world.state(), before);
    }
    let up = Plan {
        down: None,
        ..plan(Qdisc::Fifo)
    };
    router.apply(&look, &up).unwrap();
    assert!(router.remove(look.kind, &device()).unwrap());
    assert_eq!(world.state(), before);
}

fn filters_of_others_at_the_entry_are_left_alone() {
    let world = World::new();
    let router = world.router("exec $ENTER sh -s");
    let look = router.look().unwrap();
    world.tell("tc qdisc add dev eth0 clsact");
    let before = world.state();
    let said = router.apply(&look, &plan(Qdisc::Fifo)).unwrap_err();
    let said = said.to_string();
    assert!(
        said.contains("eth0 has a clsact discipline already") && !said.contains("tc qdisc del"),
        "{said}"
    );
    assert_eq!(world.state(), before);
    world.tell("tc qdisc add dev eth0 root handle 7: pfifo limit 50");
    let root = router.apply(&look, &plan(Qdisc::Fifo)).unwrap_err();
    assert!(root.to_string().contains("(tc qdisc del dev eth0 root)"));
}

fn only_what_was_done_is_taken_back() {
    let world = World::new();
    // Another program takes the device's entry while the shaper is put in place.
    let tc = "#!/bin/sh\ncase \"$*\" in 'qdisc add '*ingress) /usr/sbin/tc qdisc add dev eth0 clsact ;; esac\nexec /usr/sbin/tc \"$@\"\n";
    fs::create_dir(world.path("bin")).unwrap();
    executable(&world.path("bin/tc"), tc);
    let path = world.path("bin").display().to_string();
    let router = world.router(&format!(
        "exec $ENTER env PATH={path}:/usr/sbin:/usr/bin:/sbin:/bin sh -s"
    ));
    let look = router.look().unwrap();
    let before = world.state();
    let refused = router.apply(&look, &plan(Qdisc::Fifo));
    assert!(
        matches!(refused, Err(ShaperError::Router { .. })),
        "{refused:?}"
    );
    assert!(world.state().contains("clsact"), "{}", world.state());
    world.tell("tc qdisc del dev eth0 clsact");
    assert_eq!(world.state(), before);
}

fn a_router_with_two_ways_out_and_no_right_says_so() {
    let world = World::new();
    world.tell("ip link set eth0 up");
    world.tell("ip address add 10.46.0.1/24 dev eth0");
    world.tell("ip link add wan1 type veth peer name wan2");
    world.tell("ip link set wan1 up");
    world.tell("ip link set wan2 up");
    world.tell("ip route add default via 10.46.0.2 dev eth0");
    world.tell("ip route add default dev wan1 table 100");
    let look = world.router("exec $ENTER sh -s").look().unwrap();
    assert_eq!(look.outward, ["eth0", "wan1"]);
    assert_eq!(look.header_bytes(&device()), 14);
    let bare = "exec $ENTER setpriv --bounding-set=-net_admin --inh-caps=-net_admin sh -s";
    let unprivileged = world.router(bare).look().unwrap();
    let refused = unprivileged.refused.clone().unwrap();
    assert!(refused.contains("Operation not permitted"), "{refused}");
    assert_eq!(unprivileged.facts().offered, None);
}

fn answers_that_are_none_are_clear_errors() {
    let world = World::new();
    let garbage = world.router("head -c 2000 /dev/urandom").look();
    assert!(
        matches!(garbage, Err(ShaperError::Reply { .. })),
        "{garbage:?}"
    );
    let lies = world.router("echo kind windows; echo unbloat-done").look();
    assert!(matches!(lies, Err(ShaperError::Reply { .. })), "{lies:?}");
    let refused = world
        .router("echo 'Permission denied (publickey).' >&2; exit 255")
        .look();
    assert!(matches!(refused, Err(ShaperError::Ssh { said, .. }) if said.contains("publickey")));
    let short = Duration::from_millis(500);
    let hangs = world.router("exec sleep 60").times(short, short).look();
    assert!(matches!(hangs, Err(ShaperError::Slow { .. })), "{hangs:?}");
    let floods = world.router("exec yes").times(short, short).look();
    assert!(floods.is_err());
    let config = world.router("echo '<html>'; echo unbloat-done").config();
    assert!(
        matches!(config, Err(ShaperError::Config { .. })),
        "{config:?}"
    );
    let queues = world
        .router("echo 'queues [{'; echo unbloat-done")
        .status(Kind::Linux, &device());
    assert!(
        matches!(queues, Err(ShaperError::Queues { .. })),
        "{queues:?}"
    );
}

/// A namespace with an `/etc` of its own, where `uci` writes down what it is told.
fn openwrt(world: &World) -> Router {
    let etc = world.path("etc");
    for folder in ["etc/config", "etc/init.d", "bin"] {
        fs::create_dir_all(world.path(folder)).unwrap();
    }
    fs::write(etc.join("config/sqm"), CONFIG).unwrap();
    executable(
        &etc.join("init.d/sqm"),
        "#!/bin/sh\necho \"$1\" >>/etc/sqm.log\n",
    );
    let uci = "#!/bin/sh\ncase \"$1\" in\nexport) echo package sqm; cat /etc/config/sqm ;;\nbatch) cat >/etc/delta ;;\ncommit) cat /etc/delta >>/etc/config/sqm; rm /etc/delta ;;\nrevert) rm -f /etc/delta ;;\nesac\n";
    executable(&world.path("bin/uci"), uci);
    let (etc, bin) = (etc.display(), world.path("bin"));
    world.router(&format!(
        "exec $ENTER sh -c 'mount --bind {etc} /etc && export PATH={}:$PATH && exec sh -s'",
        bin.display()
    ))
}

fn an_openwrt_router_is_told_by_uci_and_gets_its_configuration_back() {
    let world = World::new();
    let router = openwrt(&world);
    let read = |name: &str| fs::read_to_string(world.path(name)).unwrap();
    let look = router.look().unwrap();
    assert_eq!(look.kind, Kind::OpenWrt);
    let findings = check(&router.config().unwrap(), &look.facts());
    assert!(
        findings.iter().any(|f| f.option == "enabled"),
        "{findings:?}"
    );
    router.apply(&look, &plan(Qdisc::Cake)).unwrap();
    let told = read("etc/config/sqm");
    for line in [
        "set sqm.unbloat_eth0=queue",
        "set sqm.unbloat_eth0.download='19000'",
        "set sqm.unbloat_eth0.overhead='44'",
    ] {
        assert!(told.contains(line), "{line} in {told}");
    }
    assert_eq!(read("etc/sqm.log"), "enable\nrestart\n");
    assert!(router.remove(look.kind, &device()).unwrap());
    assert_eq!(read("etc/config/sqm"), CONFIG);
    assert_eq!(read("etc/sqm.log"), "enable\nrestart\nrestart\n");
}

fn an_openwrt_router_takes_back_what_nobody_could_confirm() {
    let world = World::new();
    let look = openwrt(&world).look().unwrap();
    let ssh = fs::read_to_string(world.path("ssh")).unwrap();
    let cut = ssh.replace(
        "exec $ENTER",
        "[ -e \"$0.used\" ] && exit 255\n: >\"$0.used\"\nexec $ENTER",
    );
    let router = world.router(&cut);
    let lost = router.apply(&look, &plan(Qdisc::FqCodel));
    assert!(
        matches!(lost, Err(ShaperError::LostContact { .. })),
        "{lost:?}"
    );
    // What a boot would find.
    assert_eq!(
        fs::read_to_string(world.path("etc/config/sqm")).unwrap(),
        CONFIG
    );
    let log = || fs::read_to_string(world.path("etc/sqm.log")).unwrap();
    until("it is started again", || {
        log() == "enable\nrestart\nrestart\n"
    });
    assert_eq!(
        fs::read_to_string(world.path("etc/config/sqm")).unwrap(),
        CONFIG
    );
}

unbloat_testkit::main! {
    root("a router in a namespace") => [
        a_linux_router_is_shaped_looked_at_and_as_before,
        a_router_takes_back_what_nobody_could_confirm,
        what_a_router_refuses_changes_nothing,
        answers_that_are_none_are_clear_errors,
        an_ifb_of_others_is_named_and_left_alone,
        filters_of_others_at_the_entry_are_left_alone,
        only_what_was_done_is_taken_back,
        a_router_with_two_ways_out_and_no_right_says_so,
        an_openwrt_router_is_told_by_uci_and_gets_its_configuration_back,
        an_openwrt_router_takes_back_what_nobody_could_confirm,
    ],
}
