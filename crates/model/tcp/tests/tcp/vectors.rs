//! Congestion controls against the kernel's own: `vectors/README.md` says how the files were made.

use unbloat_tcp::congestion::{AnyCongestion, Config, Congestion, Flow, RateSample, State};

macro_rules! vectors {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            let control = || Config::named($name).expect("a known control").build();
            let check = |text: &str| crate::replay::replay($name, control(), text);
            check(include_str!(concat!("../../vectors/", $name, "-short.tsv")));
            check(include_str!(concat!("../../vectors/", $name, "-long.tsv")));
            check(include_str!(concat!("../../vectors/", $name, "-cycles.tsv")));
        })*
    };
}

vectors! {
    newreno_makes_every_step_of_the_kernel: "newreno",
    vegas_makes_every_step_of_the_kernel: "vegas",
    bic_makes_every_step_of_the_kernel: "bic",
    cubic_makes_every_step_of_the_kernel: "cubic",
    htcp_makes_every_step_of_the_kernel: "htcp",
    hstcp_makes_every_step_of_the_kernel: "hstcp",
    westwood_makes_every_step_of_the_kernel: "westwood",
}

/// The files for BBR hold, besides results, everything that the control is given or looks at.
#[test]
fn bbr_makes_every_step_of_the_kernel() {
    replay_bbr(include_str!("../../vectors/bbr-short.tsv"), 40_000);
    replay_bbr(include_str!("../../vectors/bbr-long.tsv"), 100_000);
}

fn replay_bbr(text: &str, min_rtt_us: u32) {
    let mut flow = Flow::new(1_448, 10, 250);
    flow.now_us = 1_000_000;
    flow.delivered_us = flow.now_us;
    flow.min_rtt_us = min_rtt_us;
    flow.srtt_us8 = flow.min_rtt_us << 3;
    let mut control = Config::named("bbr").expect("a known control").build();
    control.init(&mut flow);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| fields[i].parse::<i64>().expect("a number");
        let count = |i: usize| number(i) as u32;
        flow.now_us = number(0) as u64;
        if fields[1] == "timeout" {
            control.ssthresh(&mut flow);
            control.set_state(&mut flow, State::Loss);
            flow.state = State::Loss;
            flow.cwnd = 1;
        } else {
            control_by_line(&mut control, &mut flow, &count, &number);
        }
        let found = (flow.cwnd, flow.ssthresh, flow.pacing_rate);
        let expected = (count(15), count(16), number(17) as u64);
        assert_eq!(found, expected, "{line}");
    }
}

fn control_by_line(
    control: &mut AnyCongestion,
    flow: &mut Flow,
    count: &dyn Fn(usize) -> u32,
    number: &dyn Fn(usize) -> i64,
) {
    let state = [
        State::Open,
        State::Disorder,
        State::Cwr,
        State::Recovery,
        State::Loss,
    ];
    let state = state[count(6) as usize];
    if state == State::Recovery && flow.state == State::Open {
        control.ssthresh(flow);
    } else if state == State::Open && flow.state == State::Loss {
        control.set_state(flow, state);
    }
    flow.state = state;
    flow.delivered_us = number(1) as u64;
    flow.delivered = count(2);
    flow.lost = count(3);
    flow.packets_out = count(4);
    flow.next_send_ns = (flow.now_us + number(5) as u64) * 1_000;
    flow.srtt_us8 = flow.srtt_us8 - (flow.srtt_us8 >> 3) + count(10);
    if flow.app_limited > 0 && flow.delivered > flow.app_limited {
        flow.app_limited = 0;
    }
    let sample = RateSample {
        prior_delivered: count(7),
        delivered: Some(count(8)),
        interval_us: u32::try_from(number(9)).ok(),
        rtt_us: Some(count(10)),
        acked_sacked: count(11),
        losses: count(12),
        prior_in_flight: count(13),
        is_app_limited: count(14) != 0,
        ..RateSample::default()
    };
    control.control(flow, &sample);
}
