//! Laws of a single flow over a bottleneck.

use crate::pipe::{Fate, Pipe};
use unbloat_tcp::congestion::{Config, State};
use unbloat_tcp::sender::Params;
use unbloat_tcp::{Event, Evidence, receiver};
use unbloat_units::{Delta, Rate, Time};

fn bulk(name: &str, rate: Rate, delay: Delta, limit: usize) -> Pipe {
    let params = Params {
        congestion: Config::named(name).unwrap(),
        ..Params::default()
    };
    let mut pipe = Pipe::new(params, wide(), rate, delay, limit);
    pipe.write(1 << 40);
    pipe
}

/// A receiver whose window never limits.
fn wide() -> receiver::Params {
    use unbloat_tcp::receive_window::{Config, fixed};
    receiver::Params {
        initial_window: 1 << 24,
        window_scale: 10,
        rule: Config::Static(fixed::Params {
            window: unbloat_units::Bytes::mib(16),
        }),
        ..receiver::Params::default()
    }
}

fn secs(s: i64) -> Time {
    Time::from_ns(s * 1_000_000_000)
}

#[test]
fn goodput_is_the_rate_when_the_buffer_holds_a_bdp() {
    for name in unbloat_tcp::congestion::NAMES {
        let mut pipe = bulk(name, Rate::mbps(10), Delta::ms(20), 34);
        pipe.run_until(secs(20));
        let before = pipe.receiver.received();
        pipe.run_until(secs(60));
        let goodput = (pipe.receiver.received() - before) as f64 * 8.0 / 40.0;
        let full = 10e6 * 1448.0 / 1500.0;
        // A tenth of LEDBAT++'s time is for slowdowns.
        let share = if *name == "ledbat" { 0.85 } else { 0.95 };
        assert!(goodput > share * full, "{name}: {goodput}");
    }
}

/// Without jitter, segments are lost one by one: the buffer overflows by one segment a round.
#[test]
fn reno_saws_between_the_full_pipe_and_half_of_it_with_the_period_of_the_formula() {
    // 10 Mbit/s, 1500 bytes: 1.2 ms each; 120 ms round trip: 100 segments; buffer 100.
    let mut pipe = bulk("newreno", Rate::mbps(10), Delta::us(59_400), 100);
    pipe.run_until(secs(200));
    let falls: Vec<(Time, u32)> = pipe
        .events
        .iter()
        .filter_map(|&(at, event)| match event {
            Event::State {
                to: State::Recovery,
                ..
            } => Some(at),
            _ => None,
        })
        .map(|at| {
            let before = pipe
                .events
                .iter()
                .rev()
                .find_map(|&(t, event)| match event {
                    Event::Window { cwnd, .. } if t < at => Some(cwnd),
                    _ => None,
                });
            (at, before.unwrap())
        })
        .filter(|&(at, _)| at > secs(20))
        .collect();
    // Pipe and buffer hold 100 + 100 segments.
    let peak = 200;
    assert!(falls.len() > 5);
    for pair in falls.windows(2) {
        assert!(pair[1].1.abs_diff(peak) <= 1, "peak {}", pair[1].1);
        // From w/2 to w one segment a round; a round of w segments takes w times 1.2 ms.
        let w = f64::from(peak);
        let period = 1.2e-3 * 3.0 / 8.0 * w * w;
        let measured = (pair[1].0 - pair[0].0).as_secs();
        assert!(
            (measured / period - 1.0).abs() < 0.03,
            "{measured} for {period}"
        );
    }
}

#[test]
fn one_loss_is_repaired_within_two_rounds_and_without_a_timeout() {
    for name in unbloat_tcp::congestion::NAMES {
        let lost = 1_448 * 300;
        let mut once = true;
        let mut pipe = bulk(name, Rate::mbps(100), Delta::ms(25), 4_000).fate(move |segment| {
            match segment.seq == lost && std::mem::take(&mut once) {
                true => Fate::Drop,
                false => Fate::Pass,
            }
        });
        pipe.run_until(secs(3));
        let first = pipe.sent.iter().find(|(_, s)| s.seq == lost).unwrap().0;
        let again: Vec<_> = pipe
            .sent
            .iter()
            .filter(|(_, s)| s.is_retransmission)
            .collect();
        assert_eq!(again.len(), 1, "{name}");
        assert_eq!(again[0].1.seq, lost, "{name}");
        let wait = again[0].0 - first;
        assert!(wait < Delta::ms(100), "{name}: {wait}");
        assert_eq!(pipe.sender.stats().timeouts, 0, "{name}");
        assert_eq!(pipe.sender.stats().recoveries, 1, "{name}");
    }
}

#[test]
fn a_lost_tail_is_found_by_a_probe() {
    let params = Params::default();
    let total = 1_448 * 20;
    let mut once = true;
    let mut pipe =
        Pipe::new(params, wide(), Rate::mbps(10), Delta::ms(50), 1_000).fate(move |segment| {
            match segment.end() == total && std::mem::take(&mut once) {
                true => Fate::Drop,
                false => Fate::Pass,
            }
        });
    pipe.write(total);
    pipe.run_until(secs(5));
    assert_eq!(pipe.receiver.received(), total);
    let stats = pipe.sender.stats();
    assert_eq!(
        (stats.loss_probes, stats.timeouts, stats.retransmissions),
        (1, 0, 1)
    );
    // An acknowledgement of more than the probe shows that it repaired a loss (RFC 8985 section 7.4).
    let cwnd = pipe.sender.flow().cwnd;
    pipe.write(1_448);
    pipe.run_for(Delta::ms(500));
    assert_eq!(pipe.sender.stats().reductions, 1);
    assert!(pipe.sender.flow().cwnd <= cwnd / 2);
}

#[test]
fn a_window_that_is_lost_as_a_whole_is_sent_again_after_timeouts_that_double() {
    let (mut n, total) = (0, 1_448 * 10);
    let mut pipe = Pipe::new(
        Params::default(),
        wide(),
        Rate::mbps(10),
        Delta::ms(50),
        1_000,
    )
    .fate(move |_| {
        n += 1;
        if n <= 14 { Fate::Drop } else { Fate::Pass }
    });
    pipe.write(total);
    pipe.run_until(secs(60));
    assert_eq!(pipe.receiver.received(), total);
    let timeouts: Vec<f64> = pipe
        .events
        .iter()
        .filter(|(_, event)| matches!(event, Event::Timeout { .. }))
        .map(|(at, _)| at.as_ns() as f64 / 1e9)
        .collect();
    // Ten segments and the probe are lost, then the retransmissions of three timeouts.
    assert_eq!(timeouts.len(), 4);
    let gaps: Vec<f64> = timeouts.windows(2).map(|w| w[1] - w[0]).collect();
    // The kernel's timers are late by an eighth at most.
    for (gap, expected) in gaps.iter().zip([0.6, 1.2, 2.4]) {
        assert!((1.0..1.13).contains(&(gap / expected)), "{gaps:?}");
    }
}

/// The link stands still for three seconds and loses nothing.
#[test]
fn a_spurious_timeout_is_taken_back() {
    for (timestamps, expected) in [(true, Evidence::Timestamp), (false, Evidence::Frto)] {
        let params = Params {
            timestamps,
            ..Params::default()
        };
        let mut pipe = Pipe::new(params, wide(), Rate::mbps(10), Delta::ms(50), 4_000);
        pipe.write(1 << 30);
        pipe.run_until(secs(1));
        let cwnd = pipe.sender.flow().cwnd;
        pipe.outage_until = secs(4);
        pipe.run_until(secs(6));
        let stats = pipe.sender.stats();
        assert!(stats.timeouts > 0);
        let undone = pipe.events.iter().find_map(|&(_, event)| match event {
            Event::Undone { evidence } => Some(evidence),
            _ => None,
        });
        assert_eq!(undone, Some(expected));
        assert!(pipe.sender.flow().cwnd >= cwnd);
        assert_eq!(pipe.sender.flow().state, State::Open);
    }
}
