//! Shapers on hosts of a bed. Needs root.

use std::path::Path;
use std::process::Command;
use unbloat_netns::{Bed, Host};
use unbloat_os::offload::MERGING;
use unbloat_sqm::{Device, Plan, Qdisc};
use unbloat_sqm_host::{ShaperError, apply, offered, remove, status};
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
    let merging = MERGING.map(|offload| offload.is_on("eth0").unwrap());
    format!("{names:?} {merging:?}\n{}", rest.concat())
}

fn in_host(job: impl FnOnce(&Journals) + Send) {
    let (_bed, hosts) = bed();
    let folder = tempfile::tempdir().unwrap();
    let path: &Path = folder.path();
    hosts[0]
        .within(|| job(&Journals::at(path.to_owned()).unwrap()))
        .unwrap();
}

fn whoever_replaces_a_discipline_or_renames_the_device_is_seen() {
    let tell = |program: &str, words: &str| {
        let status = Command::new(program).args(words.split(' ')).status();
        assert!(status.unwrap().success(), "{words}");
    };
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
        let shaped = status(journals, &device()).unwrap();
        assert_eq!(shaped.plan, Some(plan(Qdisc::Fifo)));
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
        let shaped = status(journals, &device()).unwrap();
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
    ],
}
