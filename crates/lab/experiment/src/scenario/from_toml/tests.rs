use super::build;
use crate::scenario::toml::Node;
use unbloat_link::Config as Element;
use unbloat_qdisc::Config as Queue;
use unbloat_units::{Both, Bytes, Delta, Time};

const TEXT: &str = r#"
[scenario]
name = "upload hurts"
duration = "30 s"
warmup = "5 s"

[link.down]
trace = "lte.down"
delay = "30 ms"
queue = { kind = "fq_codel", target = "7 ms" }

[link.up]
rate = "8 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", limit = "2 BDP" }
loss = { kind = "burst", to_bad = 0.01, to_good = 0.5 }
framing = { overhead_bytes = 44, cells = "atm" }

[[flow]]
app = { kind = "bulk", direction = "up" }
count = 2
stagger = "1 s"
cc = { kind = "vegas", alpha = 3 }

[[flow]]
name = "call"
app = "voice"
"#;

/// Two chances in 2 ms: 12 Mbit/s.
fn files(name: &str) -> Result<Vec<u8>, String> {
    match name {
        "lte.down" => Ok(b"1\n2\n".to_vec()),
        "broken" => Ok(b"1\nx\n".to_vec()),
        _ => Err("no such file".into()),
    }
}

fn built(text: &str) -> Result<crate::scenario::Experiment, crate::scenario::toml::Error> {
    build(&Node::parse(text)?, &files)
}

#[test]
fn a_direction_may_have_several_hops() {
    let text = r#"
        [link.rrc]
        [[link.down.hop]]
        rate = "8 Mbit/s"
        delay = "10 ms"
        [[link.down.hop]]
        rate = "16 Mbit/s"
        delay = "30 ms"
        queue = { kind = "droptail", limit = "1 BDP" }
        [[link.up.hop]]
        delay = "20 ms"
        [[link.up.hop]]
        delay = "40 ms"
        [[flow]]
        app = "bulk"
        "#;
    let experiment = built(text).unwrap();
    let names = |hops: &[crate::scenario::Hop]| -> Vec<Vec<_>> {
        let hop = |hop: &crate::scenario::Hop| hop.elements.iter().map(Element::name).collect();
        hops.iter().map(hop).collect()
    };
    let line = ["bottleneck", "delay"];
    assert_eq!(
        names(&experiment.down),
        [&line[..], &["rrc", "bottleneck", "delay"]]
    );
    assert_eq!(names(&experiment.up), [&["rrc", "delay"][..], &["delay"]]);
    let Element::Bottleneck(second) = &experiment.down[1].elements[1] else {
        panic!("{:?}", experiment.down);
    };
    let Queue::DropTail(droptail) = &second.queue else {
        panic!("{:?}", second.queue);
    };
    // 16 Mbit/s times 100 ms, of all hops there and back.
    assert_eq!(droptail.limit_bytes, Some(Bytes::new(200_000)));
    for (from, to, expected) in [
        (
            "[link.rrc]",
            "[link.down]\nrate = \"1 Mbit/s\"\n",
            "line 3: link.down.rate: unknown key \"rate\"",
        ),
        (
            "delay = \"30 ms\"",
            "delai = \"30 ms\"",
            "line 8: link.down.hop.1.delai: unknown key",
        ),
        (
            "rate = \"8 Mbit/s\"",
            "hop = [{ }]",
            "line 4: link.down.hop.0.hop: unknown key",
        ),
        (
            "[[link.up.hop]]\n        delay = \"20 ms\"\n        [[link.up.hop]]\n        delay = \"40 ms\"",
            "[link.up]\nhop = []",
            "line 11: link.up.hop: expected 1 to 255 hops",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let fault = built(&text.replace(from, to)).unwrap_err().to_string();
        assert!(
            fault.starts_with(expected),
            "{fault}\ninstead of\n{expected}"
        );
    }
}

#[test]
fn data_of_each_direction_may_have_a_tcp_of_its_own() {
    let tables = "[flow.up]\ncc = \"bbr\"\nnotsent_lowat = \"64 kB\"\n[flow.down]\nreceive_window = \"drwa\"";
    let text = format!("{TEXT}cc = \"vegas\"\nmss_bytes = 1400\n{tables}\n");
    let call = &built(&text).unwrap().flows[2];
    let senders = call.senders.as_ref();
    let found = senders.map(|one| (one.congestion.name(), one.mss, one.notsent_lowat));
    assert_eq!(
        found,
        Both::new(("vegas", 1_400, None), ("bbr", 1_400, Some(64_000)))
    );
    let rules = call.receivers.as_ref().map(|one| one.rule.name());
    assert_eq!(rules, Both::new("drwa", "drs"));
    let fault = built(&text.replace("notsent_lowat", "notsent_lowwat")).unwrap_err();
    assert!(
        fault
            .to_string()
            .contains("flow.1.up.notsent_lowwat: unknown key")
            && fault
                .to_string()
                .contains("did you mean \"notsent_lowat\"?"),
        "{fault}"
    );
}

#[test]
fn a_scenario_becomes_paths_and_flows() {
    let experiment = built(TEXT).unwrap();
    assert_eq!(
        (experiment.duration, experiment.warmup),
        (Delta::secs(30), Delta::secs(5))
    );
    let [Element::Bottleneck(down), Element::Delay(_)] = &experiment.down[0].elements[..] else {
        panic!("{:?}", experiment.down);
    };
    let Queue::FqCodel(fq_codel) = &down.queue else {
        panic!("{:?}", down.queue);
    };
    assert_eq!(fq_codel.law.target, Delta::ms(7));
    let [
        Element::Bottleneck(up),
        Element::Burst(_),
        Element::Delay(_),
    ] = &experiment.up[0].elements[..]
    else {
        panic!("{:?}", experiment.up);
    };
    let Queue::DropTail(droptail) = &up.queue else {
        panic!("{:?}", up.queue);
    };
    // Twice 8 Mbit/s times 50 ms.
    assert_eq!(droptail.limit_bytes, Some(Bytes::new(100_000)));
    assert_eq!(up.framing.wire_bytes(1_500), 33 * 53);
    let names: Vec<_> = experiment
        .flows
        .iter()
        .map(|flow| (flow.name.as_str(), flow.start))
        .collect();
    let at = |s| Time::from_ns(0) + Delta::secs(s);
    assert_eq!(
        names,
        [("bulk_1", at(0)), ("bulk_2", at(1)), ("call", at(0))]
    );
    assert_eq!(experiment.flows[0].senders.up.congestion.name(), "vegas");
}

#[test]
fn every_fault_is_one_message_with_line_key_and_what_is_allowed() {
    for (from, to, expected) in [
        (
            "target = \"7 ms\"",
            "targte = \"7 ms\"",
            "line 10: link.down.queue.targte: unknown key \"targte\"; did you mean \"target\"?",
        ),
        (
            "\"fq_codel\"",
            "\"fqcodel\"",
            "line 10: link.down.queue: unknown kind \"fqcodel\"; did you mean \"fq_codel\"?",
        ),
        (
            "\"8 Mbit/s\"",
            "\"8 Mbps\"",
            "line 13: link.up.rate: \"8 Mbps\" is not a number with a unit",
        ),
        (
            "\"lte.down\"",
            "\"lte.donw\"",
            "line 8: link.down.trace: lte.donw: no such file",
        ),
        (
            "\"lte.down\"",
            "\"broken\"",
            "line 8: link.down.trace: broken: line 2: \"x\" is not a time",
        ),
        (
            "\"2 BDP\"",
            "\"2 BPD\"",
            "line 15: link.up.queue.limit: \"2 BPD\" is not a buffer size",
        ),
        (
            "to_bad = 0.01",
            "to_bad = 1.5",
            "line 16: link.up.loss.to_bad: 1.5 is not a fraction",
        ),
        (
            "\"vegas\"",
            "\"vega\"",
            "line 23: flow.0.cc: unknown kind \"vega\"; did you mean \"vegas\"?",
        ),
        (
            "count = 2",
            "count = 0",
            "line 19: flow.0: \"count\" must be at least 1",
        ),
        ("app = \"voice\"", "", "line 25: flow.1: \"app\" is missing"),
        (
            "name = \"call\"",
            "name = \"all\"",
            "line 25: flow.1: \"name\" must not be empty or \"all\"",
        ),
        (
            "app = \"voice\"",
            "app = { kind = \"web\", every = \"1 us\" }",
            "line 2: scenario: flows of app \"web\" would open more than 200000 connections",
        ),
        (
            "direction = \"up\"",
            "direction = \"left\"",
            "line 20: flow.0.app.direction: unknown value \"left\"",
        ),
        (
            "rate = \"8 Mbit/s\"",
            "",
            "line 12: link.up: a queue without a rate never fills",
        ),
        (
            "[scenario]",
            "[scenari]",
            "line 2: scenari: unknown key \"scenari\"; did you mean \"scenario\"?",
        ),
        (
            "[[flow]]",
            "[[flows]]",
            "line 19: flows: unknown key \"flows\"; did you mean \"flow\"? (allowed: autorate, flow, link, preset, presets, scenario, score, sweep)",
        ),
        (
            "\"5 s\"",
            "\"30 s\"",
            "line 2: scenario: \"duration\" must be longer than \"warmup\"",
        ),
        (
            "\"30 s\"",
            "\"0 s\"",
            "line 4: scenario.duration: 0 s is out of range; the range is 1 us to 86400 s",
        ),
        ("\"30 s\"", "\"99999999 s\"", "line 4: scenario.duration: "),
        (
            "\"8 Mbit/s\"",
            "\"0 bit/s\"",
            "line 13: link.up.rate: 0 bit/s is out of range; the range is 1 bit/s to 1000.00 Gbit/s",
        ),
        (
            "\"8 Mbit/s\"",
            "\"99999 Gbit/s\"",
            "line 13: link.up.rate: ",
        ),
        (
            "overhead_bytes = 44",
            "overhead_bytes = -1",
            "line 17: link.up.framing.overhead_bytes: ",
        ),
        (
            "\"5 s\"",
            "\"5 s\"\nsample_every = \"1 ns\"",
            "line 2: scenario: \"sample_every\" must be at least 39 us here",
        ),
        (
            "app = \"voice\"",
            "app = { kind = \"ping\", every = \"0 s\" }",
            "line 27: flow.1.app.every: 0 s is out of range; the range is 1 us to ",
        ),
        (
            "app = \"voice\"",
            "app = { kind = \"page\", levels = [1, 4000000000] }",
            "line 27: flow.1.app.levels: each level needs at least 1 object",
        ),
        (
            "count = 2",
            "count = 99999999999999",
            "line 19: flow.0: \"count\" must be at least 1",
        ),
        (
            "alpha = 3",
            "alpha = 99999999",
            "line 23: flow.0.cc.alpha: 99999999 is out of range; the range is 0 to 1000000",
        ),
        (
            "trace = \"lte.down\"",
            "rate = \"8 Mbit/s\"\nburst = \"9 kB\"\nradio = \"lte\"",
            "line 10: link.down.radio: a radio needs a \"rate\"",
        ),
        (
            "trace = \"lte.down\"",
            "trace = \"lte.down\"\noutages = { every = \"1 s\", at = [] }",
            "line 9: link.down.outages: exactly one of \"at\" and \"every\" is needed",
        ),
        (
            "trace = \"lte.down\"",
            "trace = \"lte.down\"\ndetours = []",
            "line 9: link.down.detours: expected routes like",
        ),
        (
            "trace = \"lte.down\"",
            "markov = [{ rate = \"0 bit/s\", stay = \"1 s\" }]",
            "line 7: link.down: \"markov\" needs stays",
        ),
    ] {
        assert!(TEXT.contains(from), "{from}");
        let message = built(&TEXT.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(
            message.starts_with(expected),
            "{message}\ninstead of\n{expected}"
        );
    }
}

#[test]
fn hosts_keep_their_names() {
    let text = "[link.down]\nrate = \"1 Mbit/s\"\n[link.up]\nrate = \"1 Mbit/s\"\n[[flow]]\napp = \"ping\"\nclient = \"phone\"\n[[flow]]\napp = \"ping\"\nclient = \"laptop\"";
    let experiment = built(text).unwrap();
    let clients = experiment.flows.iter().map(|flow| flow.client.0 as usize);
    let names: Vec<_> = clients.map(|n| experiment.hosts[n].as_str()).collect();
    assert_eq!(names, ["phone", "laptop"]);
    assert_eq!(experiment.hosts, ["phone", "server", "laptop"]);
}

#[test]
fn a_client_may_have_a_path_of_its_own() {
    let text = |clients: &str| {
        format!(
            "[link.down]\ndelay = \"9 ms\"\n{clients}\n\
             [[flow]]\napp = \"ping\"\n[[flow]]\napp = \"ping\"\nclient = \"phone\"\n"
        )
    };
    let own = "[link.clients.phone.down]\nrate = \"8 Mbit/s\"\n[link.clients.phone.rrc]\n";
    let experiment = built(&text(own)).unwrap();
    let [Element::PerClient(down)] = &experiment.down[0].elements[..] else {
        panic!("{:?}", experiment.down);
    };
    let [(host, elements)] = &down.clients[..] else {
        panic!("{down:?}");
    };
    let names: Vec<_> = elements.iter().map(Element::name).collect();
    assert_eq!(names, ["rrc", "bottleneck"]);
    assert_eq!(*host, experiment.flows[1].client);
    assert_eq!(down.others[0].name(), "delay");
    assert!(experiment.shares_radio && experiment.takes_time());

    let fault = |clients: &str| built(&text(clients)).unwrap_err().to_string();
    assert!(fault("[link.clients.tablet]").contains("no flow has the client \"tablet\""));
    let hops = "[[link.clients.phone.up.hop]]\n[[link.clients.phone.up.hop]]";
    assert!(fault(hops).contains("as many hops"));
    let kernels = "rate = \"1 Mbit/s\"\nqueue = { kernel = \"fq\" }\n[link.clients.phone]";
    assert!(fault(kernels).contains("shared by all clients"));
}

#[test]
fn a_path_without_rate_and_delay_takes_no_time_in_any_form() {
    let takes_time = |links: &str| {
        let text = format!("{links}\n[[flow]]\napp = \"bulk\"\n");
        built(&text).unwrap().takes_time()
    };
    for links in [
        "[link.down]\n[link.up]",
        "[link.down]\nloss = 0.1\nhold = {}\n[link.up]\noutages = { every = \"1 s\" }",
        "[[link.down.hop]]\n[[link.down.hop]]\nloss = 0.1\n[link.up]",
        "[link.down]\n[link.rrc]",
        "[link.down]\ndelay = \"9 ms\"\n[link.clients.client.down]\nloss = 0.1",
    ] {
        assert!(!takes_time(links), "{links}");
    }
    for links in [
        "[link.down]\n[[link.up.hop]]\n[[link.up.hop]]\ndelay = \"1 us\"",
        "[link.down]\n[link.clients.client.up]\nrate = \"1 Mbit/s\"",
        "[link.down]\njitter = \"1 ms\"\n[link.up]",
    ] {
        assert!(takes_time(links), "{links}");
    }
}

#[test]
fn hops_are_probed_where_answers_can_return_along_them() {
    let text = |down: usize, up: usize| {
        let hops = |direction: &str, count| format!("[[link.{direction}.hop]]\n").repeat(count);
        let flow = "[[flow]]\napp = \"traceroute\"\n";
        format!("{}{}{flow}", hops("down", down), hops("up", up))
    };
    for hops in [1, 2, 5] {
        assert!(built(&text(hops, hops)).is_ok());
    }
    let fault = built(&text(3, 2)).unwrap_err().to_string();
    assert!(fault.contains("as many hops") && fault.contains("\"traceroute\""));
}

#[test]
fn promotions_are_told_by_bounds_or_by_quartiles() {
    let text = |rrc: &str| {
        format!(
            "[link]\nrrc = {{ {rrc} }}\n[link.down]\ndelay = \"9 ms\"\n[[flow]]\napp = \"ping\"\n"
        )
    };
    let told = |rrc: &str| format!("{:?}", built(&text(rrc)).map(|one| one.down));
    let published = "promotion = { min = \"203 ms\", p25 = \"319 ms\", p50 = \"435 ms\", p75 = \"558 ms\", max = \"681 ms\" }";
    assert_eq!(told("promotion = true"), told(published));
    assert_ne!(told("promotion = true"), told(""));
    let fault = |rrc: &str| built(&text(rrc)).unwrap_err().to_string();
    assert!(fault("promotion = { p25 = \"500 ms\" }").contains("must not fall"));
    assert!(fault("promotion = true, promotion_min = \"1 s\"").contains("promotion_min"));
}
