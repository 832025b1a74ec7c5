//! Flows that share some hops and not others: access lines before a core, a parking lot.

use crate::scenario::{Run, experiment};
use unbloat_units::Both;

/// Two clients behind lines of their own, of which only the slow one is full, and a core that both share.
const HEAD: &str = r#"
    [scenario]
    duration = "30 s"
    warmup = "5 s"
    sample_every = "0 s"
    "#;
const FLOWS: &str = r#"
    [[flow]]
    name = "slow"
    client = "slow"
    app = "bulk"
    cc = "cubic"

    [[flow]]
    name = "fast"
    client = "fast"
    app = "bulk"
    cc = "newreno"

    [[flow]]
    name = "call"
    client = "fast"
    app = "voice"
    "#;
const CORE: &str = r#"
    [[link.down.hop]]
    rate = "20 Mbit/s"
    delay = "10 ms"
    queue = { kind = "fq_codel" }
    "#;
const SLOW: &str = r#"rate = "5 Mbit/s"
    delay = "7 ms"
    queue = { kind = "droptail", limit = "50 packets" }
    "#;
const FAST: &str = r#"rate = "50 Mbit/s"
    delay = "3 ms"
    "#;

fn hop(direction: &str, clients: &[&str], keys: &str) -> String {
    format!("[[link.{direction}.hop]]\nclients = {clients:?}\n{keys}\n")
}

fn shown(run: &Run) -> String {
    format!("{:?}", run.outcomes.flows)
}

#[test]
fn lines_in_a_row_that_single_clients_pass_are_lines_side_by_side() {
    let up = "[link.up]\nrate = \"9 Mbit/s\"\ndelay = \"10 ms\"\n";
    let row = hop("down", &["slow"], SLOW) + &hop("down", &["fast"], FAST);
    let in_a_row = Run::of(&format!("{HEAD}{CORE}{row}{up}{FLOWS}"));
    let other_row = hop("down", &["fast"], FAST) + &hop("down", &["slow"], SLOW);
    let turned = Run::of(&format!("{HEAD}{CORE}{other_row}{up}{FLOWS}"));
    let own = |name: &str, line: &str| {
        format!(
            "[[link.clients.{name}.down.hop]]\nrate = \"20 Mbit/s\"\n[[link.clients.{name}.down.hop]]\n{line}\n\
             [link.clients.{name}.up]\nrate = \"9 Mbit/s\"\ndelay = \"10 ms\"\n"
        )
    };
    let apart = Run::of(&format!(
        "{HEAD}[[link.down.hop]]\ndelay = \"1 ms\"\n[[link.down.hop]]\n{up}{}{}{FLOWS}",
        own("slow", SLOW),
        own("fast", FAST),
    ));
    assert_eq!(shown(&in_a_row), shown(&turned));
    assert_ne!(
        shown(&in_a_row),
        shown(&apart),
        "there the core is not shared"
    );

    let goodput = |run: &Run, flow: &str| run.get(flow, "goodput_bps") / 1e6;
    let payload = 1448.0 / 1500.0;
    let slow = goodput(&in_a_row, "slow");
    assert!((slow / (5.0 * payload) - 1.0).abs() < 0.02, "{slow}");
    // What the slow line leaves of the core, less what the call takes and fq_codel costs.
    let (fast, left) = (goodput(&in_a_row, "fast"), 15.0 * payload);
    assert!(fast < left && fast > 0.9 * left, "{fast} {left}");
    let (core, line) = ("down.hop1", "down.hop2");
    assert!(in_a_row.get(line, "queue_delay_mean_ms") > 50.0);
    assert!(in_a_row.get(core, "queue_delay_mean_ms") < 20.0);
    for subject in [core, line, "down"] {
        let utilisation = in_a_row.get(subject, "utilisation");
        assert!(
            utilisation > 0.9 && utilisation <= 1.0 + 1e-4,
            "{subject}: {utilisation}"
        );
    }
    let Both { down, .. } = &in_a_row.outcomes.hops;
    assert_eq!(
        down[0].delivered_packets,
        down[1].offered_packets + down[2].offered_packets
    );
}

#[test]
fn a_hop_that_nobody_of_them_passes_changes_nothing() {
    let up = "[link.up]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n";
    let idle = "[[flow]]\nname = \"idle\"\nclient = \"idle\"\napp = \"bulk\"\nenabled = false\n";
    let text = |hops: &str| format!("{HEAD}{hops}{up}{FLOWS}{idle}");
    let bare = Run::of(&text(CORE));
    let line = hop("down", &["idle"], "rate = \"1 kbit/s\"\ndelay = \"1 s\"");
    for hops in [format!("{line}{CORE}"), format!("{CORE}{line}")] {
        assert_eq!(shown(&bare), shown(&Run::of(&text(&hops))));
    }
    let only = text(&line).replace("[link.up]\nrate = \"1 Mbit/s\"", "[link.up]");
    let run = Run::of(&only.replace("duration = \"30 s\"", "duration = \"6 s\""));
    assert_eq!(run.outcomes.hops.down[0].offered_packets, 0);
}

/// One flow through all hops, and one through each (Floyd 1991). Fair queues share by max-min: half of each hop for each flow. Drop-tail
/// with equal base RTTs favours those that pass one hop only.
#[test]
fn in_a_parking_lot_the_long_flow_gets_half_of_fair_queues_and_less_of_drop_tail() {
    let share = |queue: &str| {
        let cross = ["one", "two", "three"];
        let lot = |direction: &str| -> String {
            let hops = cross.iter().map(|name| {
                let keys = format!("rate = \"10 Mbit/s\"\nqueue = {queue}");
                hop(direction, &["long", name], &keys)
            });
            hops.collect()
        };
        let flows = cross.iter().map(|name| {
            format!("[[flow]]\nname = \"{name}\"\nclient = \"{name}\"\napp = \"bulk\"\ncc = \"newreno\"\ndelay = \"20 ms\"\n")
        });
        let flows: String = flows.collect();
        let long = "[[flow]]\nname = \"long\"\nclient = \"long\"\napp = \"bulk\"\ncc = \"newreno\"\ndelay = \"20 ms\"\n";
        let head = HEAD
            .replace("\"30 s\"", "\"120 s\"")
            .replace("\"5 s\"", "\"20 s\"");
        let run = Run::of(&format!("{head}{}[link.up]\n{long}{flows}", lot("down")));
        for hop in 1..=3 {
            let utilisation = run.get(&format!("down.hop{hop}"), "utilisation");
            assert!(
                utilisation > 0.95 && utilisation <= 1.0 + 1e-4,
                "{utilisation}"
            );
        }
        let of = |name: &&str| run.get(name, "goodput_bps");
        let mean = cross.iter().map(of).sum::<f64>() / 3.0;
        run.get("long", "goodput_bps") / (run.get("long", "goodput_bps") + mean)
    };
    let fair = share("{ kind = \"fq_codel\" }");
    assert!((fair - 0.5).abs() < 0.03, "{fair}");
    let unfair = share("{ kind = \"droptail\", limit = \"40 packets\" }");
    assert!(unfair < 0.35, "{unfair}");
}

#[test]
fn the_bdp_is_that_of_the_longest_path_through_a_hop_and_probes_count_own_hops() {
    let hops = |direction: &str| {
        hop(direction, &["near"], "delay = \"2 ms\"")
            + &hop(direction, &["far"], "delay = \"40 ms\"")
            + &format!(
                "[[link.{direction}.hop]]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = {{ kind = \"droptail\", limit = \"1 BDP\" }}\n"
            )
    };
    let probes = |client: &str| {
        format!("[[flow]]\nname = \"{client}\"\nclient = \"{client}\"\napp = \"traceroute\"\n")
    };
    // So that they do not meet in a queue.
    let later = "start = \"3.3 ms\"\n";
    let head = HEAD.replace("sample_every = \"0 s\"", "");
    let text = format!(
        "{head}{}[[link.up.hop]]\ndelay = \"5 ms\"\n{}{}{}",
        hops("down"),
        hop("up", &["near"], "delay = \"2 ms\""),
        hop("up", &["far"], "delay = \"40 ms\""),
        probes("near") + &probes("far") + later,
    );
    let limit = format!("{:?}", experiment(&text).down[2]);
    // 10 Mbit/s times 90 ms.
    assert!(limit.contains("112500"), "{limit}");
    let run = Run::of(&text);
    for (client, own_ms) in [("near", 4.0), ("far", 80.0)] {
        let first = run.get(client, "hop1_rtt_mean_ms");
        let second = run.get(client, "hop2_rtt_mean_ms");
        let serialisation_ms = 56.0 * 8.0 / 10e3;
        // The first hop of [link.up] is the shared one, and so is the last of [link.down].
        assert!(
            (first - 10.0 - serialisation_ms).abs() < 1e-3,
            "{client}: {first}"
        );
        assert!((second - first - own_ms).abs() < 1e-3, "{client}: {second}");
    }
}
