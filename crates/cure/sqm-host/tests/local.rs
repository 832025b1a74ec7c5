//! Shapers on hosts of a bed. Needs root.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use unbloat_netns::{Bed, Host, Tun};
use unbloat_os::offload::MERGING;
use unbloat_sqm::{Device, Plan, Qdisc};
use unbloat_sqm_host::{ShaperError, apply, check, offered, remove, status};
use unbloat_undo::{Journals, UndoError};
use unbloat_units::{Both, Framing, Rate};

fn bed() -> (Bed, [Host; 2]) {
    let bed = Bed::new().unwrap();
    let hosts = [bed.host("client").unwrap(), bed.host("server").unwrap()];
    hosts[0].veth("eth0", &hosts[1], "eth0").unwrap();
    let address = "10.45.0.1/24".parse().unwrap();
    hosts[0].address("eth0", address).unwrap();
    // As in a namespace that somebody made by hand.
    hosts[0].down("lo").unwrap();
    (bed, hosts)
}

fn device() -> Device {
    "eth0".parse().unwrap()
}

fn plan(qdisc: Qdisc) -> Plan {
    let rates = Both::new(Some(Rate::mbps(19)), Some(Rate::mbps(4)));
    Plan::new(device(), rates, Framing::ATM, qdisc).unwrap()
}

/// Links, disciplines, classes and filters, without counters.
fn state() -> String {
    let said = |program: &str, words: &str| {
        let output = Command::new(program)
            .args(words.split(' '))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let links = said("ip", "-o link");
    let names: Vec<&str> = links.lines().filter_map(|l| l.split(": ").nth(1)).collect();
    let rest = [
        "qdisc",
        "class show dev eth0",
        "filter show dev eth0 ingress",
    ];
    let rest = rest.map(|words| said("tc", words));
    let link = said("ip", "-d link show dev eth0");
    let merging = MERGING.map(|offload| offload.is_on("eth0").unwrap());
    format!("{names:?} {merging:?} {link}\n{}", rest.concat())
}

fn in_host(job: impl FnOnce(&Journals) + Send) {
    let (_bed, hosts) = bed();
    let folder = tempfile::tempdir().unwrap();
    let path: &Path = folder.path();
    hosts[0]
        .within(|| job(&Journals::at(path.to_owned()).unwrap()))
        .unwrap();
}

fn tell(program: &str, words: &str) {
    let status = Command::new(program).args(words.split(' ')).status();
    assert!(status.unwrap().success(), "{program} {words}");
}

/// What the class of a shaper has sent, as its rate counts it.
fn charged_bytes(device: &str) -> u64 {
    let words = ["-s", "class", "show", "dev", device];
    let output = Command::new("tc").args(words).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let sent = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Sent "));
    let bytes = sent.and_then(|sent| sent.split(' ').next()?.parse().ok());
    bytes.unwrap_or_else(|| panic!("no class on {device}: {text}"))
}

/// Five cells of 53 bytes. With Ethernet's header, which is not on the line, it would be six.
fn an_atm_line_is_charged_the_cells_of_the_ip_packet() {
    const PACKETS: u64 = 20;
    // IP packets of 200 bytes, with 40 240.
    let payload = [0; 172];
    let send = |from: &UdpSocket, to: &str| {
        for _ in 0..PACKETS {
            from.send_to(&payload, to).unwrap();
        }
    };
    let socket = |address: &str| UdpSocket::bind(address).unwrap();
    let framing = Framing {
        overhead_bytes: 40,
        ..Framing::ATM
    };
    let (_bed, hosts) = bed();
    let far = "10.45.0.2".parse().unwrap();
    hosts[1]
        .address("eth0", "10.45.0.2/24".parse().unwrap())
        .unwrap();
    let known = |host: &Host, other: &Host, address| {
        host.neighbour("eth0", address, other.mac("eth0")).unwrap();
    };
    known(&hosts[0], &hosts[1], far);
    known(&hosts[1], &hosts[0], "10.45.0.1".parse().unwrap());
    let tun = hosts[0].tun("tun0", &Tun::default()).unwrap();
    hosts[0]
        .address("tun0", "10.46.0.1/24".parse().unwrap())
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let charged = hosts[0].within(|| {
        let journals = Journals::at(folder.path().to_owned()).unwrap();
        let framed = |device: &str| Plan {
            device: device.parse().unwrap(),
            framing,
            ..plan(Qdisc::Fifo)
        };
        let ethernet = apply(&journals, &framed("eth0"), "a test").unwrap();
        let raw = apply(&journals, &framed("tun0"), "a test").unwrap();
        // Who listens keeps the host from answering by ICMP.
        let there = hosts[1].within(|| socket("10.45.0.2:7")).unwrap();
        let here = socket("10.45.0.1:7");
        send(&here, "10.45.0.2:7");
        send(&socket("10.46.0.1:7"), "10.46.0.2:7");
        send(&there, "10.45.0.1:7");
        // They have left the shaper that arrives at once.
        let mut received = [0; 200];
        here.set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        for _ in 0..PACKETS {
            here.recv(&mut received).unwrap();
        }
        std::thread::sleep(Duration::from_millis(200));
        let charged = ["eth0", "ifb4eth0", "tun0"].map(charged_bytes);
        raw.release().unwrap();
        ethernet.release().unwrap();
        charged
    });
    drop(tun);
    assert_eq!(charged.unwrap(), [PACKETS * 5 * 53; 3]);
}

/// Packets of 64 kB do not fit into a FIFO of 24 kB: of what BBR sends to a near host, a tenth arrives.
fn tcp_of_this_host_gets_through_a_short_fifo_to_a_near_one() {
    const BYTES: usize = 400_000;
    let (_bed, hosts) = bed();
    hosts[1]
        .address("eth0", "10.45.0.2/24".parse().unwrap())
        .unwrap();
    let listener = hosts[1]
        .within(|| TcpListener::bind("10.45.0.2:9").unwrap())
        .unwrap();
    let receiver = std::thread::spawn(move || {
        let mut read = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut read).unwrap();
        read.len()
    });
    let folder = tempfile::tempdir().unwrap();
    let took = hosts[0].within(|| {
        let before = state();
        let journals = Journals::at(folder.path().to_owned()).unwrap();
        let held = apply(&journals, &plan(Qdisc::Fifo), "a test").unwrap();
        let mut stream = TcpStream::connect("10.45.0.2:9").unwrap();
        let begun = Instant::now();
        stream.write_all(&vec![0; BYTES]).unwrap();
        drop(stream);
        assert_eq!(receiver.join().unwrap(), BYTES);
        let took = begun.elapsed();
        held.release().unwrap();
        assert_eq!(state(), before);
        took
    });
    // 0.8 s at the rate, 20 s without.
    let took = took.unwrap();
    assert!(took < Duration::from_secs(12), "{took:?}");
}

fn what_is_others_is_named_before_anything_is_touched() {
    in_host(|journals| {
        tell("ip", "link add lan0 type veth peer name lan1");
        tell("ip", "link add ifb4eth0 type ifb");
        tell("tc", "qdisc add dev lan0 clsact");
        tell(
            "tc",
            "filter add dev lan0 ingress protocol all u32 match u32 0 0 action mirred egress redirect dev ifb4eth0",
        );
        let before = state();
        let refused = |expected: &str| {
            for refused in [
                check(journals, &plan(Qdisc::Fifo)),
                apply(journals, &plan(Qdisc::Fifo), "a test").map(drop),
            ] {
                let said = refused.unwrap_err().to_string();
                assert!(said.contains(expected), "{said}");
                assert!(
                    said.contains("--rate-up") && !said.contains("del"),
                    "{said}"
                );
            }
        };
        refused("ifb4eth0 exists already, and what arrives on lan0 is sent there");
        assert_eq!(state(), before);
        tell("tc", "qdisc add dev eth0 clsact");
        refused("eth0 has a clsact discipline already");
        let up = Plan {
            down: None,
            ..plan(Qdisc::Fifo)
        };
        check(journals, &up).unwrap();
        let with_clsact = state();
        apply(journals, &up, "a test").unwrap().release().unwrap();
        assert_eq!(state(), with_clsact);
    });
}

fn devices_with_long_names_have_an_ifb_each() {
    in_host(|journals| {
        let names = ["enxa0cec812eb2b", "enxa0cec812eb2c"];
        let before = state();
        let held = names.map(|name| {
            tell(
                "ip",
                &format!("link add {name} type veth peer name p{}", &name[10..]),
            );
            let plan = Plan {
                device: name.parse().unwrap(),
                ..plan(Qdisc::Fifo)
            };
            apply(journals, &plan, "a test").unwrap()
        });
        for one in held {
            one.release().unwrap();
        }
        for name in names {
            tell("ip", &format!("link del {name}"));
        }
        assert_eq!(state(), before);
    });
}

/// A macvlan over the device has offloads that nobody can switch.
fn a_device_with_fixed_offloads_is_shaped_and_left_as_it_was() {
    in_host(|journals| {
        tell("ip", "link add link eth0 name mac0 type macvlan");
        let plan = Plan {
            device: "mac0".parse().unwrap(),
            ..plan(Qdisc::Fifo)
        };
        apply(journals, &plan, "a test").unwrap().keep().unwrap();
        assert!(remove(journals, &plan.device).unwrap());
        assert!(journals.recover().unwrap().is_empty(), "nothing is left");
    });
}

const TELLS: &str = "UNBLOAT_SQM_TEST_TELLS";

/// In a process of its own: what is offered, by programs of a folder.
fn tells_what_is_offered() {
    if std::env::var_os(TELLS).is_some() {
        match offered() {
            Ok(offered) => println!("told {:?}", offered),
            Err(error) => println!("told {error}"),
        }
    }
}

fn what_keeps_a_kernel_from_being_asked_is_not_its_fault() {
    let folder = tempfile::tempdir().unwrap();
    let told = |before: &[&str], path: &str| {
        let this = std::env::current_exe().unwrap();
        let words = before.iter().map(|word| (*word).to_owned());
        let mut words = words.chain([this.display().to_string()]);
        let output = Command::new(words.next().unwrap())
            .args(words)
            .args([
                "--exact",
                "tells_what_is_offered",
                "--ignored",
                "--nocapture",
            ])
            .env(TELLS, "")
            .env("PATH", path)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find_map(|line| line.strip_prefix("told "));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let program = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let path = |rest: &str| format!("{}:{rest}", folder.path().display());
    const USUAL: &str = "/usr/sbin:/usr/bin:/sbin:/bin";
    program("ip", "exec /usr/sbin/ip \"$@\"");
    assert!(told(&[], &path("")).starts_with("cannot run tc: "));
    program(
        "tc",
        "echo 'tc: cannot open shared object file' >&2; exit 127",
    );
    let broken = told(&[], &path(USUAL));
    assert!(
        broken.contains("tc does not work: tc: cannot open"),
        "{broken}"
    );
    // As tc says it of a discipline that it does not know; without options it makes that.
    program(
        "tc",
        "case \"$*\" in *'root cake') exit 0 ;; *'root cake '*) echo 'Unknown qdisc' >&2; exit 1 ;; esac\nexec /usr/sbin/tc \"$@\"",
    );
    let old = told(&[], &path(USUAL));
    assert!(old.contains(r#"unknown_to_tc: ["cake"]"#), "{old}");
    let bare = [
        "setpriv",
        "--bounding-set=-net_admin",
        "--inh-caps=-net_admin",
    ];
    let bare = told(&bare, USUAL);
    assert!(bare.contains("lacks CAP_NET_ADMIN"), "{bare}");
}

fn whoever_replaces_a_discipline_or_renames_the_device_is_seen() {
    in_host(|journals| {
        let replaced = "qdisc replace dev eth0 root handle 9: pfifo limit 50";
        let gone = "link del ifb4eth0";
        let renamed = "link set eth0 name wan0";
        for (program, words) in [("tc", replaced), ("ip", gone), ("ip", renamed)] {
            let before = state();
            let held = apply(journals, &plan(Qdisc::Fifo), "a test").unwrap();
            assert!(held.stands());
            tell(program, words);
            assert!(!held.stands(), "{words}");
            held.release().unwrap();
            if words != renamed {
                assert_eq!(state(), before, "{words}");
            }
        }
    });
}

fn what_is_planned_stands_on_the_device_and_leaves_it_as_it_was() {
    in_host(|journals| {
        let before = state();
        apply(journals, &plan(Qdisc::Fifo), "a test")
            .unwrap()
            .keep()
            .unwrap();
        let shaped = status(Some(journals), &device()).unwrap();
        let of_ethernet = Plan {
            header_bytes: 14,
            ..plan(Qdisc::Fifo)
        };
        assert_eq!(shaped.plan, Some(of_ethernet));
        assert_eq!(shaped.pid, None);
        let kinds: Vec<(&str, &str)> = shaped
            .queues
            .iter()
            .map(|q| (q.device.as_str(), q.kind.as_str()))
            .collect();
        let expected = [
            ("eth0", "htb"),
            ("eth0", "bfifo"),
            ("eth0", "ingress"),
            ("ifb4eth0", "htb"),
            ("ifb4eth0", "bfifo"),
        ];
        assert_eq!(kinds, expected);
        let class = state();
        assert!(class.contains("rate 4Mbit"), "{class}");
        assert!(remove(journals, &device()).unwrap());
        assert_eq!(state(), before);
        assert!(!remove(journals, &device()).unwrap(), "only once");
    });
}

fn what_is_held_goes_with_its_owner() {
    in_host(|journals| {
        let before = state();
        let held = apply(journals, &plan(Qdisc::Fifo), "a test").unwrap();
        let shaped = status(Some(journals), &device()).unwrap();
        assert_eq!(shaped.pid, Some(std::process::id()));
        let second = apply(journals, &plan(Qdisc::Fifo), "a test");
        assert!(matches!(
            second,
            Err(ShaperError::Undo(UndoError::Taken { .. }))
        ));
        held.release().unwrap();
        assert_eq!(state(), before);
    });
}

fn where_a_command_is_refused_nothing_stays() {
    in_host(|journals| {
        let before = state();
        for qdisc in [Qdisc::Cake, Qdisc::FqCodel, Qdisc::OwnCake] {
            if let Err(error) = apply(journals, &plan(qdisc), "a test") {
                assert!(
                    matches!(
                        error,
                        ShaperError::Refused { .. } | ShaperError::OwnCakeIsHeld
                    ),
                    "{error}"
                );
            }
            assert_eq!(state(), before, "{qdisc}");
        }
        let nowhere = Plan {
            device: "eth9".parse().unwrap(),
            ..plan(Qdisc::Fifo)
        };
        let refused = apply(journals, &nowhere, "a test");
        assert!(matches!(
            refused,
            Err(ShaperError::Undo(UndoError::NoDevice { .. }))
        ));
        assert_eq!(state(), before);
    });
}

fn what_the_kernel_offers_is_found_without_touching_a_device() {
    in_host(|_| {
        let before = state();
        let offered = offered().unwrap();
        assert!(offered.best().is_some(), "{offered:?}");
        assert_eq!(state(), before);
    });
}

unbloat_testkit::main! {
    root("a shaper") => [
        whoever_replaces_a_discipline_or_renames_the_device_is_seen,
        what_is_planned_stands_on_the_device_and_leaves_it_as_it_was,
        what_is_held_goes_with_its_owner,
        where_a_command_is_refused_nothing_stays,
        what_the_kernel_offers_is_found_without_touching_a_device,
        an_atm_line_is_charged_the_cells_of_the_ip_packet,
        tcp_of_this_host_gets_through_a_short_fifo_to_a_near_one,
        what_is_others_is_named_before_anything_is_touched,
        devices_with_long_names_have_an_ifb_each,
        a_device_with_fixed_offloads_is_shaped_and_left_as_it_was,
        what_keeps_a_kernel_from_being_asked_is_not_its_fault,
    ],
    on_request() => [
        tells_what_is_offered,
    ],
}
