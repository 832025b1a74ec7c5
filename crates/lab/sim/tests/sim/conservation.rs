//! What must hold whatever is simulated: nothing is made or lost, and the same experiment has the same outcome.

use crate::scenario::{Run, experiment};
use unbloat_experiment::scenario::{Experiment, Hop};
use unbloat_link::device::{self, modem};
use unbloat_link::radio::{AirParams, Rates, downlink, uplink};
use unbloat_link::service::constant;
use unbloat_link::{Config as Element, element::delay};
use unbloat_sim::run;
use unbloat_units::{Delta, Rate, Time};

/// Everybody at once: uploads, downloads, pages, calls and datagrams over links that lose and jitter.
fn crowd(queue: &str, control: &str, window: &str, ecn: &str) -> String {
    format!(
        r#"
        [scenario]
        name = "{queue} {control} {window} {ecn}"
        duration = "8 s"
        warmup = "1 s"

        [link.down]
        rate = "8 Mbit/s"
        delay = "15 ms"
        loss = 0.002
        jitter = "3 ms"
        reorders = true
        queue = {{ kind = "{queue}" }}

        [link.up]
        trace = "mahimahi/Verizon-LTE-short.up.gz"
        delay = "15 ms"
        loss = {{ kind = "burst", to_bad = 0.001, to_good = 0.2 }}
        outages = [{{ after = "3 s", lasts = "400 ms" }}]
        queue = {{ kind = "{queue}" }}

        [[flow]]
        app = "bulk"
        count = 3
        stagger = "500 ms"
        delay = "4 ms"
        cc = "{control}"
        ecn = "{ecn}"
        receive_window = "{window}"

        [[flow]]
        name = "upload"
        app = {{ kind = "bulk", direction = "up" }}
        cc = "{control}"
        ecn = "{ecn}"
        receive_window = "{window}"
        stop = "6 s"

        [[flow]]
        app = {{ kind = "web", every = "200 ms" }}
        cc = "{control}"

        [[flow]]
        app = "page"

        [[flow]]
        app = "voice"

        [[flow]]
        app = {{ kind = "onoff", rate = "2 Mbit/s", on = "100 ms", off = "100 ms" }}

        [[flow]]
        app = "ping"
        "#
    )
}

#[test]
fn packets_and_bytes_are_conserved_under_every_queue() {
    for queue in unbloat_qdisc::NAMES {
        for ecn in ["off", "classic", "accurate"] {
            Run::of(&crowd(queue, "cubic", "drs", ecn));
        }
    }
}

#[test]
fn packets_and_bytes_are_conserved_under_every_congestion_control_and_receive_window() {
    for control in unbloat_tcp::congestion::NAMES {
        Run::of(&crowd("droptail", control, "drs", "off"));
    }
    for window in unbloat_tcp::receive_window::NAMES {
        Run::of(&crowd("codel", "newreno", window, "classic"));
    }
}

/// A phone: its own queues and the LTE uplink one way, the base station the other.
fn phone(text: &str) -> Experiment {
    let mut plan = experiment(text);
    let core = Element::Delay(delay::Params {
        delay: Delta::ms(20),
    });
    let queue = |name| unbloat_qdisc::Config::named(name).expect("a queue of that name");
    let rates = Rates::Constant(constant::Params {
        rate: Rate::mbps(10),
    });
    plan.down = vec![Hop::from(vec![
        core.clone(),
        Element::LteDownlink(downlink::Params {
            queue: queue("droptail"),
            rates: rates.clone(),
            air: AirParams::default(),
        }),
    ])];
    plan.up = vec![Hop::from(vec![
        Element::Device(device::Params {
            qdisc: queue("fq_codel"),
            ring: device::RingLimit::default(),
            modem: modem::Config::LteUplink(uplink::Params::default()),
            control: None,
        }),
        core,
    ])];
    plan
}

#[test]
fn packets_and_bytes_are_conserved_over_a_phone() {
    for control in ["cubic", "bbr"] {
        Run::from(&phone(&crowd("droptail", control, "drs", "off")));
    }
}

#[test]
fn a_radio_carries_what_the_chances_of_a_trace_allow() {
    let sent = |radio: &str| {
        let text = format!(
            r#"
            [scenario]
            duration = "30 s"
            [link.down]
            trace = "mahimahi/Verizon-LTE-short.down.gz"
            {radio}
            [link.up]
            trace = "mahimahi/Verizon-LTE-short.up.gz"
            {radio}
            [[flow]]
            app = {{ kind = "onoff", rate = "40 Mbit/s", size = "1500 B" }}
            [[flow]]
            app = {{ kind = "onoff", rate = "40 Mbit/s", size = "1500 B", direction = "up" }}
            "#
        );
        let run = Run::of(&text);
        ["down", "up"].map(|way| run.get(way, "throughput_bps"))
    };
    let (plain, on_air) = (sent(""), sent("radio = { kind = \"lte\", bler = 0 }"));
    for (without, with) in plain.into_iter().zip(on_air) {
        // Headers of blocks and reports take some of it.
        assert!((0.97..1.0).contains(&(with / without)), "{without} {with}");
    }
}

#[test]
fn the_same_experiment_has_the_same_outcome_and_another_seed_another() {
    let text = crowd("cake", "bbr3", "drwa", "off");
    for mut plan in [experiment(&text), phone(&text)] {
        let [first, again] = [run(&plan), run(&plan)];
        assert_eq!(format!("{first:?}"), format!("{again:?}"));
        plan.seed += 1;
        assert_ne!(format!("{:?}", run(&plan)), format!("{first:?}"));
    }
}

#[test]
fn random_starts_make_runs_differ_in_which_nothing_else_is_random() {
    let text = r#"
        [scenario]
        duration = "12 s"
        [link.down]
        rate = "8 Mbit/s"
        delay = "15 ms"
        queue = { kind = "codel" }
        [[flow]]
        app = "bulk"
        count = 2
        stop = "8 s"
        "#;
    let outcome = |jitter_ms: Option<i64>, seed| {
        let mut plan = experiment(text);
        (plan.start_jitter, plan.seed) = (jitter_ms.map(Delta::ms), seed);
        run(&plan)
    };
    let shown = |jitter_ms, seed| format!("{:?}", outcome(jitter_ms, seed));
    assert_eq!(shown(None, 1), shown(Some(0), 2), "nothing is random");
    assert_eq!(shown(Some(100), 1), shown(Some(100), 1));
    assert_ne!(shown(Some(100), 1), shown(Some(100), 2));
    // Both begin and stop within the 100 ms: nothing is sent before the first, nothing arrives long after the last.
    let outcomes = outcome(Some(100), 3);
    let begun: Vec<_> = outcomes.windows.iter().map(|window| window.at).collect();
    let at = |ms| Time::from_ns(0) + Delta::ms(ms);
    assert!((at(30)..=at(140)).contains(&begun[0]), "{:?}", begun[0]);
    assert!((at(8_000)..=at(8_100)).contains(begun.last().unwrap()));
}
