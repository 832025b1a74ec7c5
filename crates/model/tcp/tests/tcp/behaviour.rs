//! What windows, delays and timers come to: by formula, over a path without surprises.

use crate::pipe::{Fate, Pipe};
use unbloat_tcp::congestion::{Config, State};
use unbloat_tcp::receive_window::{self, drs, drwa, fixed, rledbat};
use unbloat_tcp::sender::{EcnMode, Params};
use unbloat_tcp::{
    Ack, Block, Ecn, Event, Limit, Receiver, SackBlocks, Segment, Sender, Timestamps, receiver,
};
use unbloat_units::{Bytes, Delta, Rate, Time};

fn params(name: &str) -> Params {
    Params {
        congestion: Config::named(name).unwrap(),
        ..Params::default()
    }
}

fn window(bytes: u64) -> receiver::Params {
    receiver::Params {
        initial_window: bytes.min(1 << 24) as u32,
        window_scale: if bytes > 65_535 { 10 } else { 0 },
        rule: receive_window::Config::Static(fixed::Params {
            window: Bytes::new(bytes),
        }),
        ..receiver::Params::default()
    }
}

fn wide() -> receiver::Params {
    window(1 << 24)
}

fn at_ms(ms: i64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

/// A path of so many Mbit/s, 50 ms each way, with a queue of so many packets.
fn over_50_ms(control: &str, receiver: receiver::Params, mbps: u64, queue: usize) -> Pipe {
    let rate = Rate::mbps(mbps);
    Pipe::new(params(control), receiver, rate, Delta::ms(50), queue)
}

/// Mean rate of the application's data over a span, bit/s.
fn goodput(pipe: &mut Pipe, span: Delta) -> f64 {
    let before = pipe.receiver.received();
    pipe.run_for(span);
    (pipe.receiver.received() - before) as f64 * 8.0 / span.as_secs()
}

fn smoothed_ms(pipe: &Pipe) -> f64 {
    f64::from(pipe.sender.flow().srtt_us8) / 8_000.0
}

/// A pipe of n segments is full after log2(n / 10) round trips.
#[test]
fn slow_start_doubles_the_window_every_round_trip() {
    let mut pipe = over_50_ms("newreno", wide(), 2_000, 9_999);
    pipe.write(1 << 40);
    for n in 0..7 {
        pipe.run_until(at_ms(100 * n + 90));
        assert_eq!(pipe.sender.flow().cwnd, 10 << n, "after {n} round trips");
    }
}

/// The knee and the slope of (Jiang et al., IMC 2012, Figs. 9 and 11).
#[test]
fn a_static_window_gives_window_over_rtt_up_to_the_bdp_and_delay_beyond() {
    // 10 Mbit/s times 100 ms: 83 segments of 1500 bytes.
    for segments in [10u64, 20, 40, 60] {
        let bytes = segments * 1_448;
        let mut pipe = over_50_ms("cubic", window(bytes), 10, 2_000);
        pipe.write(1 << 40);
        pipe.run_until(at_ms(5_000));
        let found = goodput(&mut pipe, Delta::secs(20));
        // Segments that were sent together wait for each other, and for the second of a pair.
        let least = bytes as f64 * 8.0 / 0.106;
        let most = bytes as f64 * 8.0 / 0.1;
        assert!((least..=most).contains(&found), "{segments}: {found}");
        assert_eq!(pipe.sender.limit(), Limit::Receiver);
    }
    for segments in [120u64, 240, 480] {
        let bytes = segments * 1_448;
        let mut pipe = over_50_ms("cubic", window(bytes), 10, 2_000);
        pipe.write(1 << 40);
        pipe.run_until(at_ms(20_000));
        let expected = segments as f64 * 1.2;
        assert!(
            (smoothed_ms(&pipe) / expected - 1.0).abs() < 0.02,
            "{} ms",
            smoothed_ms(&pipe)
        );
        let full = goodput(&mut pipe, Delta::secs(10)) / (10e6 * 1_448.0 / 1_500.0);
        assert!((full - 1.0).abs() < 0.002, "{full}");
    }
}

#[test]
fn vegas_keeps_two_to_four_segments_in_the_queue() {
    let mut pipe = over_50_ms("vegas", wide(), 10, 2_000);
    pipe.write(1 << 40);
    pipe.run_until(at_ms(60_000));
    for _ in 0..50 {
        pipe.run_for(Delta::ms(137));
        let flow = pipe.sender.flow();
        // 100 ms and the segment in transmission are 84.3 segments.
        let queued = f64::from(flow.cwnd) - 84.3;
        assert!((1.0..=6.0).contains(&queued), "{queued}");
    }
    assert!(smoothed_ms(&pipe) < 110.0);
}

/// From 0.7 W back to W takes the cube root of 0.3 W / C seconds (RFC 9438 section 4.2).
#[test]
fn cubic_comes_back_to_its_maximum_in_the_time_of_the_curve() {
    let mut pipe = Pipe::new(
        params("cubic"),
        wide(),
        Rate::mbps(10),
        Delta::us(59_400),
        100,
    );
    pipe.write(1 << 40);
    pipe.run_until(at_ms(120_000));
    let mut falls = Vec::new();
    for &(at, event) in &pipe.events {
        if matches!(
            event,
            Event::State {
                to: State::Recovery,
                ..
            }
        ) {
            falls.push(at);
        }
    }
    let late: Vec<f64> = falls
        .windows(2)
        .skip(3)
        .map(|w| (w[1] - w[0]).as_secs())
        .collect();
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    let k = (0.3f64 * 200.0 / 0.4).cbrt();
    // Beyond it the curve is flat for a while, and recovery takes a round.
    assert!(
        (0.95 * k..1.35 * k).contains(&mean),
        "{mean} s, curve {k} s: {late:?}"
    );
}

#[test]
fn marks_of_classic_ecn_reduce_the_window_once_a_round_without_loss() {
    let sender = Params {
        ecn: EcnMode::Classic,
        ..params("newreno")
    };
    let receiver = receiver::Params {
        ecn: EcnMode::Classic,
        ..wide()
    };
    let mut pipe = Pipe::new(sender, receiver, Rate::mbps(10), Delta::ms(20), 1_000);
    pipe.mark_above = Some(30);
    pipe.write(1 << 40);
    pipe.run_until(at_ms(30_000));
    let stats = pipe.sender.stats();
    assert!(pipe.marks > 0);
    assert_eq!(
        (stats.retransmissions, stats.timeouts, stats.recoveries),
        (0, 0, 0)
    );
    assert!(
        (10..200).contains(&stats.reductions),
        "{}",
        stats.reductions
    );
    let cwr = pipe.sent.iter().filter(|(_, segment)| segment.cwr).count() as u64;
    assert_eq!(cwr, stats.reductions);
    // The step also marks what tells of the reduction, so that some rounds reduce twice.
    let found = goodput(&mut pipe, Delta::secs(10));
    assert!(found > 8.5e6, "{found}");
}

/// A scalable control under a step keeps the queue at it (RFC 9332 section 2.1).
#[test]
fn prague_keeps_the_queue_at_the_step_and_the_link_full() {
    let sender = Params {
        ecn: EcnMode::Accurate,
        ..params("prague")
    };
    let receiver = receiver::Params {
        ecn: EcnMode::Accurate,
        ..wide()
    };
    let mut pipe = Pipe::new(sender, receiver, Rate::mbps(50), Delta::ms(10), 1_000);
    pipe.mark_above = Some(4);
    pipe.write(1 << 40);
    pipe.run_until(at_ms(5_000));
    pipe.peak = 0;
    assert!(goodput(&mut pipe, Delta::secs(20)) > 0.97 * 50e6 * 1_448.0 / 1_500.0);
    assert!(pipe.peak < 20, "{} waiting", pipe.peak);
    assert_eq!(pipe.drops, 0);
}

#[test]
fn ledbat_and_its_receiver_keep_the_delay_at_the_target_of_sixty_ms() {
    let receiver = receiver::Params {
        rule: receive_window::Config::RLedbat(rledbat::Params::default()),
        window_scale: 10,
        ..receiver::Params::default()
    };
    for (name, side) in [("ledbat", wide()), ("cubic", receiver)] {
        let mut pipe = over_50_ms(name, side, 10, 2_000);
        pipe.write(1 << 40);
        pipe.run_until(at_ms(60_000));
        let mut delays: Vec<f64> = (0..400)
            .map(|_| {
                pipe.run_for(Delta::ms(100));
                smoothed_ms(&pipe)
            })
            .collect();
        delays.sort_by(f64::total_cmp);
        let median = delays[delays.len() / 2];
        assert!((150.0..175.0).contains(&median), "{name}: {median} ms");
    }
}

/// The fixed point of the rule: a round-trip time of lambda times the least.
#[test]
fn drwa_settles_at_three_times_the_least_round_trip_time_without_loss_of_rate() {
    let rules = [
        receive_window::Config::Drwa(drwa::Params::default()),
        receive_window::Config::Drs(drs::Params::default()),
    ];
    let mut delays = Vec::new();
    for rule in rules {
        let receiver = receiver::Params {
            rule,
            ..receiver::Params::default()
        };
        let mut pipe = over_50_ms("cubic", receiver, 5, 5_000);
        pipe.write(1 << 40);
        pipe.run_until(at_ms(90_000));
        assert!(goodput(&mut pipe, Delta::secs(10)) > 0.99 * 5e6 * 1_448.0 / 1_500.0);
        delays.push(smoothed_ms(&pipe));
    }
    assert!((delays[0] / 300.0 - 1.0).abs() < 0.05, "{delays:?}");
    assert!(delays[1] > 1_000.0, "{delays:?}");
}

/// (Huang et al., SIGCOMM 2013, section 5.2): the timer expires in slow start after one loss.
#[test]
fn round_trip_times_of_duplicate_acks_keep_the_timeout_from_expiring() {
    let timeouts = |rtt_from_sacks| {
        let sender = Params {
            rtt_from_sacks,
            ..params("newreno")
        };
        let mut once = true;
        let mut pipe =
            Pipe::new(sender, wide(), Rate::mbps(4), Delta::ms(25), 5_000).fate(move |segment| {
                match segment.seq == 1_448 * 150 && std::mem::take(&mut once) {
                    true => Fate::Drop,
                    false => Fate::Pass,
                }
            });
        pipe.write(3_000_000);
        pipe.run_until(at_ms(20_000));
        assert_eq!(pipe.receiver.received(), 3_000_000);
        pipe.sender.stats().timeouts
    };
    assert_eq!((timeouts(true), timeouts(false) > 0), (0, true));
}

#[test]
fn a_closed_window_is_probed_ever_more_slowly_until_it_opens() {
    let mut pipe = over_50_ms("newreno", window(20_000), 10, 100);
    pipe.reads = false;
    pipe.write(100_000);
    pipe.run_until(at_ms(20_000));
    let probes: Vec<f64> = pipe
        .sent
        .iter()
        .filter(|(_, segment)| segment.len == 0)
        .map(|(at, _)| at.as_ns() as f64 / 1e9)
        .collect();
    let gaps: Vec<f64> = probes.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(gaps.len() >= 4, "{probes:?}");
    // The timer starts anew with the answer, a round trip of 100 ms later; the kernel's are late by an eighth at most.
    for pair in gaps.windows(2) {
        let ratio = (pair[1] - 0.1) / (pair[0] - 0.1);
        assert!((1.77..2.26).contains(&ratio), "{gaps:?}");
    }
    assert!(pipe.receiver.received() <= 20_000);
    pipe.reads = true;
    let waiting = pipe.receiver.readable();
    pipe.receiver.read(pipe.now, waiting);
    pipe.answer();
    pipe.run_for(Delta::secs(5));
    assert_eq!(pipe.receiver.received(), 100_000);
    assert_eq!(pipe.sender.stats().timeouts, 0);
}

#[test]
fn the_window_halves_for_every_timeout_that_passes_idle() {
    let mut pipe = over_50_ms("newreno", wide(), 100, 9_999);
    pipe.write(1_448 * 1_000);
    pipe.run_until(at_ms(5_000));
    let cwnd = pipe.sender.flow().cwnd;
    assert!(cwnd > 100);
    // The timeout is 300 ms: three of them and a part.
    let idle_from = pipe.sent.last().unwrap().0;
    pipe.run_until(idle_from + Delta::ms(5_050));
    pipe.write(1_448);
    assert_eq!(pipe.sender.flow().cwnd, 10);
    assert!(pipe.sender.flow().ssthresh >= cwnd * 3 / 4);
}

#[test]
fn first_segments_are_acknowledged_one_by_one_and_later_ones_in_pairs() {
    let mut pipe = over_50_ms("newreno", wide(), 10, 9_999);
    pipe.write(1 << 40);
    pipe.run_until(at_ms(5_000));
    let steps: Vec<u64> = pipe
        .acks
        .windows(2)
        .map(|w| (w[1].1.ack - w[0].1.ack) / 1_448)
        .collect();
    assert!(steps[..15].iter().all(|&n| n == 1), "{:?}", &steps[..20]);
    let late = &steps[steps.len() / 2..];
    assert!(late.iter().all(|&n| n == 2));
}

#[test]
fn pacing_spreads_segments_over_the_round() {
    let sender = Params {
        pacing: true,
        ..params("newreno")
    };
    let mut pipe = Pipe::new(sender, wide(), Rate::mbps(100), Delta::ms(50), 5_000);
    pipe.write(1 << 40);
    // The first ten segments are not paced.
    pipe.run_until(at_ms(90));
    pipe.peak = 0;
    pipe.run_until(at_ms(450));
    // Without pacing pairs and the growth of the window leave together; with it hardly anything waits.
    assert!(pipe.peak <= 2, "{}", pipe.peak);
    assert!(pipe.sender.flow().cwnd >= 80);
}

fn goodput_with_loss(name: &str, share: f64) -> f64 {
    let mut rng = fastrand::Rng::with_seed(5);
    let mut pipe = over_50_ms(name, wide(), 20, 2_000).fate(move |_| {
        if rng.f64() < share {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    pipe.write(1 << 40);
    pipe.run_until(at_ms(10_000));
    goodput(&mut pipe, Delta::secs(200))
}

/// (Mathis et al., CCR 27(3), 1997): sqrt(3/2) segments a round trip over the root of the loss rate.
#[test]
fn reno_under_random_loss_gets_what_the_square_root_law_gives() {
    for share in [0.001f64, 0.004, 0.01] {
        let law = 1.5f64.sqrt() / share.sqrt() * 1_448.0 * 8.0 / 0.101;
        let found = goodput_with_loss("newreno", share);
        assert!(
            (found / law - 1.0).abs() < 0.15,
            "{share}: {found} for {law}"
        );
    }
}

/// Both keep sending by the rate; the third version bears losses up to 2 % (its section 2.8).
#[test]
fn bbr_bears_random_loss_and_keeps_queues_short() {
    let full = 20e6 * 1_448.0 / 1_500.0;
    for name in ["bbr", "bbr3"] {
        let found = goodput_with_loss(name, 0.005);
        assert!(found > 0.85 * full, "{name}: {found}");
        let mut pipe = over_50_ms(name, wide(), 10, 2_000);
        pipe.write(1 << 40);
        pipe.run_until(at_ms(60_000));
        let mean = pipe.waited.as_ms() / pipe.departed as f64;
        assert!(mean < 20.0, "{name}: {mean} ms");
    }
}

/// RFC 8985 section 6.2: once reordering was seen, a quarter of the least round trip (101 ms) may pass,
/// and 2 ms more for the timer; the D-SACK of each needless retransmission widens that by as much again.
#[test]
fn late_segments_are_waited_for_as_long_as_reordering_was_seen_to_take() {
    for (late_ms, needless) in [(15, 1), (45, 1), (60, 2), (80, 3)] {
        let mut pipe = over_50_ms("newreno", window(60 * 1_448), 10, 2_000).fate(move |segment| {
            match segment.seq % (400 * 1_448) == 200 * 1_448 {
                true if !segment.is_retransmission => Fate::Late(Delta::ms(late_ms)),
                _ => Fate::Pass,
            }
        });
        pipe.write(1_448 * 400 * 12);
        pipe.run_until(at_ms(30_000));
        let stats = pipe.sender.stats();
        assert_eq!(pipe.sender.unacknowledged(), 0);
        assert_eq!(stats.retransmissions, needless, "{late_ms} ms late");
        assert_eq!(stats.undone, needless, "{late_ms} ms late");
        assert_eq!(stats.duplicates_reported, needless, "{late_ms} ms late");
    }
}

/// RFC 7323 section 5: a timestamp older than the last accepted one marks an old duplicate, although the segment may be one that a
/// retransmission has overtaken. A tick is granted (Linux `TCP_PAWS_WINDOW`).
#[test]
fn what_a_retransmission_overtakes_by_more_than_a_tick_is_dropped_and_sent_again() {
    for (timestamps, late_ms, rejected) in [(true, 2, 1), (true, 1, 0), (false, 2, 0)] {
        let mut now = at_ms(0);
        let taken = receiver::Params {
            timestamps,
            ..wide()
        };
        let mut end = Receiver::new(now, taken);
        let mut arrive = |to: &mut Receiver, number: u64, sent: Time| {
            now += Delta::us(100);
            to.on_segment(now, &segment(number, sent, timestamps));
            to.poll_ack(now)
        };
        arrive(&mut end, 0, at_ms(0));
        arrive(&mut end, 2, at_ms(2));
        arrive(&mut end, 1, at_ms(20));
        let ack = arrive(&mut end, 4, at_ms(20 - late_ms)).expect("an answer at once");
        let stats = end.stats();
        assert_eq!(stats.out_of_date, rejected, "{late_ms} ms");
        assert_eq!(ack.ack, 3 * 1_448);
        assert_eq!(ack.sack.is_empty(), rejected == 1, "{late_ms} ms");
        // One below what has arrived is reported as a duplicate all the same.
        let last = arrive(&mut end, 1, at_ms(1)).expect("an answer at once");
        let duplicate = last.blocks().next().expect("a D-SACK");
        assert_eq!((duplicate.start, duplicate.end), (1_448, 2 * 1_448));
    }
}

/// Linux `tcp_disordered_ack`: duplicates are of use however late, an older ACK is not.
#[test]
fn an_overtaken_ack_is_ignored_unless_it_is_a_duplicate() {
    let block = Block {
        start: 5 * 1_448,
        end: 6 * 1_448,
    };
    for (acked, sent_ms, sacked) in [(3, 0, 0), (3, 9, 1), (4, 0, 1), (4, -999, 0)] {
        let mut sender = Sender::new(at_ms(0), params("newreno"), 1 << 20);
        let mut events: Vec<(Time, Event)> = Vec::new();
        sender.seed_rtt(at_ms(0), Delta::ms(40));
        sender.write(at_ms(0), 10 * 1_448);
        while sender.poll_transmit(at_ms(0), &mut events).is_some() {}
        let mut take = |up_to: u64, value_ms: i64, held: Option<Block>| {
            let mut sack = SackBlocks::default();
            if let Some(held) = held {
                sack.push(up_to * 1_448, held);
            }
            let ack = Ack {
                ack: up_to * 1_448,
                window: 1 << 20,
                timestamps: Some(Timestamps {
                    value: Timestamps::clock(at_ms(value_ms)),
                    echo: Timestamps::clock(at_ms(0)),
                }),
                sack,
                ece: false,
                ce: None,
            };
            sender.on_ack(at_ms(50), &ack, &mut events);
        };
        take(4, 10, None);
        take(acked, sent_ms, Some(block));
        assert_eq!(sender.flow().sacked_out, sacked, "{acked} of {sent_ms} ms");
    }
}

fn segment(number: u64, sent: Time, timestamps: bool) -> Segment {
    Segment {
        seq: number * 1_448,
        len: 1_448,
        timestamps: timestamps.then(|| Timestamps {
            value: Timestamps::clock(sent),
            echo: Timestamps::clock(sent),
        }),
        ecn: Ecn::NotEct,
        cwr: false,
        push: false,
        is_retransmission: false,
    }
}

/// RFC 8985 section 7.2, with Linux's 2 ms: two smoothed round trips after the last ACK.
#[test]
fn a_probe_for_a_lost_tail_leaves_two_round_trips_and_two_ms_after_the_last_ack() {
    let total = 1_448 * 40;
    let mut pipe = over_50_ms("newreno", wide(), 10, 1_000).fate(move |segment| {
        match segment.end() > total - 3 * 1_448 {
            true if !segment.is_retransmission => Fate::Drop,
            _ => Fate::Pass,
        }
    });
    pipe.write(total);
    pipe.run_until(at_ms(3_000));
    let mut last = None;
    for &(at, event) in &pipe.events {
        match event {
            Event::Rtt { smoothed, .. } => last = Some((at, smoothed)),
            Event::LossProbe { .. } => {
                let (acked, smoothed) = last.expect("ACKs before the probe");
                let expected = smoothed * 2 + Delta::ms(2);
                let found = at - acked;
                // At the end of the tick after the one that it is due in.
                let late = found - expected;
                assert!(
                    late > Delta::ZERO && late <= Delta::ms(8),
                    "{found} for {expected}"
                );
                return;
            }
            _ => {}
        }
    }
    panic!("no probe");
}
