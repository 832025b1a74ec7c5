//! Whatever a registry lists can be written in a scenario.

use super::build;
use crate::scenario::Experiment;
use crate::scenario::toml::Node;

/// What has to stand in `[link.down]`, `[link.up]`, `[link.rrc]` and `[[flow]]`.
fn built(down: &str, up: &str, link: &str, flow: &str) -> Experiment {
    let flow = match flow.contains("app =") {
        true => flow.to_owned(),
        false => format!("app = \"bulk\"\n{flow}"),
    };
    let text = format!("[link]\n{link}\n[link.down]\n{down}\n[link.up]\n{up}\n[[flow]]\n{flow}\n");
    let files = |name: &str| match name {
        "mahimahi" => Ok(b"1\n2\n".to_vec()),
        _ => Err("no such file".to_owned()),
    };
    match Node::parse(&text).and_then(|node| build(&node, &files)) {
        Ok(experiment) => experiment,
        Err(error) => panic!("{error} in\n{text}"),
    }
}

const RATE: &str = "rate = \"10 Mbit/s\"";

#[test]
fn every_queue_builds_by_its_name_alone() {
    for name in unbloat_qdisc::NAMES {
        let experiment = built(&format!("{RATE}\nqueue = \"{name}\""), "", "", "");
        let [unbloat_link::Config::Bottleneck(bottleneck)] = &experiment.down[0].elements[..]
        else {
            panic!("{:?}", experiment.down);
        };
        assert_eq!(bottleneck.queue.name(), *name);
    }
}

#[test]
fn every_congestion_control_and_window_rule_builds_by_its_name_alone() {
    for name in unbloat_tcp::congestion::NAMES {
        let experiment = built("", "", "", &format!("cc = \"{name}\""));
        assert_eq!(experiment.flows[0].senders.down.congestion.name(), *name);
    }
    for name in unbloat_tcp::receive_window::NAMES {
        let experiment = built("", "", "", &format!("receive_window = \"{name}\""));
        assert_eq!(experiment.flows[0].receivers.down.rule.name(), *name);
    }
}

#[test]
fn every_workload_builds_by_its_name_alone() {
    for name in unbloat_workload::NAMES {
        let experiment = built("", "", "", &format!("app = \"{name}\""));
        assert_eq!(experiment.flows[0].workload.name(), *name);
    }
}

#[test]
fn every_element_has_a_key() {
    for name in unbloat_link::NAMES {
        let (down, up, link) = match *name {
            "bottleneck" => (RATE.to_owned(), "".to_owned(), ""),
            "delay" => ("delay = \"1 ms\"".to_owned(), "".to_owned(), ""),
            "jitter" => ("jitter = \"1 ms\"".to_owned(), "".to_owned(), ""),
            "hold" => ("hold = {}".to_owned(), "".to_owned(), ""),
            "loss" => ("loss = 0.1".to_owned(), "".to_owned(), ""),
            "burst" => ("loss = \"burst\"".to_owned(), "".to_owned(), ""),
            "lte_downlink" => (format!("{RATE}\nradio = \"lte\""), "".to_owned(), ""),
            "lte_uplink" => ("".to_owned(), format!("{RATE}\nradio = \"lte\""), ""),
            "device" => ("".to_owned(), format!("{RATE}\ndevice = {{}}"), ""),
            "rrc" => ("".to_owned(), "".to_owned(), "rrc = true"),
            "outage" => (
                "outages = { every = \"1 s\" }".to_owned(),
                "".to_owned(),
                "",
            ),
            "detour" => (
                "detours = [{ after = \"1 s\", longer = \"9 ms\" }]".to_owned(),
                "".to_owned(),
                "",
            ),
            "per_client" => (
                "".to_owned(),
                "".to_owned(),
                "[link.clients.client.down]\ndelay = \"1 ms\"",
            ),
            _ => panic!("no key of a link makes the element {name:?}"),
        };
        let experiment = built(&down, &up, link, "");
        let mut elements = experiment.down[0]
            .elements
            .iter()
            .chain(&experiment.up[0].elements);
        assert!(
            elements.any(|element| element.name() == *name),
            "{name}: {experiment:?}"
        );
    }
}

#[test]
fn every_server_has_a_key() {
    for name in unbloat_link::service::NAMES {
        let down = match *name {
            "constant" => RATE.to_owned(),
            "bucket" => format!("{RATE}\nburst = \"10 kB\"\npeak_rate = \"20 Mbit/s\""),
            "chances" => "trace = \"mahimahi\"".to_owned(),
            "steps" => "steps = [{ span = \"1 s\", rate = \"1 Mbit/s\" }]".to_owned(),
            "markov" => "markov = [{ stay = \"1 s\", rate = \"1 Mbit/s\" }]".to_owned(),
            _ => panic!("no key of a link makes the server {name:?}"),
        };
        let experiment = built(&down, "", "", "");
        let [unbloat_link::Config::Bottleneck(bottleneck)] = &experiment.down[0].elements[..]
        else {
            panic!("{:?}", experiment.down);
        };
        assert_eq!(bottleneck.service.name(), *name);
    }
}

#[test]
fn a_shaper_needs_no_rate_of_the_link() {
    let experiment = built(
        "queue = { kind = \"cake\", rate = \"10 Mbit/s\" }",
        "",
        "",
        "",
    );
    assert_eq!(experiment.down[0].elements[0].name(), "bottleneck");
    assert!(experiment.up[0].elements.is_empty());
}

#[test]
fn both_directions_of_a_phone_share_its_radio() {
    let radio = format!("{RATE}\nradio = \"lte\"");
    let up = format!("{radio}\nqueue = \"codel\"");
    let experiment = built(&radio, &up, "rrc = { tail = \"5 s\" }", "");
    let names = |elements: &[unbloat_link::Config]| -> Vec<_> {
        elements.iter().map(|element| element.name()).collect()
    };
    assert_eq!(names(&experiment.down[0].elements), ["rrc", "lte_downlink"]);
    assert_eq!(names(&experiment.up[0].elements), ["rrc", "device"]);
    assert!(experiment.shares_radio);
}
