//! The class in front of a device, put up and taken away. Needs root and tc.

use std::process::Command;
use unbloat_netns::Bed;
use unbloat_undo::UndoError;
use unbloat_units::Rate;
use unbloat_uplink_host::{Shaper, UplinkError};

fn tc(words: &str) -> String {
    let mut tc = Command::new("tc");
    let output = tc.args(words.split(' ')).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn a_device_has_a_class_of_the_rate_that_was_set_and_is_then_as_before() {
    let bed = Bed::new().unwrap();
    let [host, other] = ["phone", "net"].map(|role| bed.host(role).unwrap());
    host.veth("wwan0", &other, "eth0").unwrap();
    let work = || {
        tc("qdisc replace dev wwan0 root bfifo limit 30000");
        let before = tc("qdisc show dev wwan0");
        let mut shaper = Shaper::open("wwan0").unwrap();
        shaper.set(Rate::mbps(8)).unwrap();
        let classes = tc("class show dev wwan0");
        let root = classes.lines().find(|line| line.contains("htb 1:1 "));
        assert!(
            root.is_some_and(|line| line.contains("rate 8Mbit ceil 8Mbit")),
            "{classes}"
        );
        let second = Shaper::open("wwan0").unwrap_err();
        let UplinkError::Undo(UndoError::Taken { pid, .. }) = second else {
            panic!("{second}");
        };
        assert_eq!(pid, std::process::id());
        shaper.remove().unwrap();
        assert_eq!(tc("qdisc show dev wwan0"), before);
        // Dropped, it is put back, too.
        drop(Shaper::open("wwan0").unwrap());
        assert_eq!(tc("qdisc show dev wwan0"), before);
    };
    host.within(|| {
        work();
        let absent = Shaper::open("wwan7").unwrap_err().to_string();
        assert!(absent.contains("no interface \"wwan7\""), "{absent}");
    })
    .unwrap();
}

unbloat_testkit::main! {
    root("changing hosts").and(tools(&["tc"])) => [
        a_device_has_a_class_of_the_rate_that_was_set_and_is_then_as_before,
    ],
}
