//! Whatever the path does, every byte arrives once, in order, and is acknowledged.

use crate::pipe::{Fate, Pipe};
use fastrand::Rng;
use unbloat_tcp::congestion::{self, NAMES};
use unbloat_tcp::receive_window;
use unbloat_tcp::sender::{EcnMode, Params};
use unbloat_tcp::{Ecn, Segment, receiver};
use unbloat_units::{Delta, Rate, Time};

fn pick(rng: &mut Rng, values: &[f64]) -> f64 {
    values[rng.usize(..values.len())]
}

/// A path drawn from `seed`: losses, reordering, small buffers, lost ACKs.
fn path(seed: u64) -> Pipe {
    let mut rng = Rng::with_seed(seed);
    let rng = &mut rng;
    let mss = [200, 536, 1_448][rng.usize(..3)];
    let ecn = [EcnMode::Off, EcnMode::Classic, EcnMode::Accurate][rng.usize(..3)];
    let params = Params {
        mss,
        congestion: congestion::Config::named(NAMES[rng.usize(..NAMES.len())]).unwrap(),
        timestamps: rng.bool(),
        frto: rng.bool(),
        loss_probe: rng.bool(),
        pacing: rng.bool(),
        rtt_from_sacks: rng.bool(),
        ecn,
        ..Params::default()
    };
    let rules = receive_window::NAMES;
    let receiver = receiver::Params {
        mss,
        timestamps: params.timestamps,
        rule: receive_window::Config::named(rules[rng.usize(..rules.len())]).unwrap(),
        initial_window: [mss, 10 * mss, 65_160][rng.usize(..3)],
        window_scale: rng.u8(0..8),
        ecn,
        ..receiver::Params::default()
    };
    let rate = Rate::kbps(rng.u64(200..20_000));
    let delay = Delta::us(rng.i64(1_000..80_000));
    let loss = pick(rng, &[0.0, 0.001, 0.02, 0.1]);
    let late = pick(rng, &[0.0, 0.01, 0.2]);
    let ack_loss = pick(rng, &[0.0, 0.05, 0.2]);
    let mut forward = Rng::with_seed(seed + 1);
    let mut backward = Rng::with_seed(seed + 2);
    Pipe::new(params, receiver, rate, delay, rng.usize(2..100))
        .fate(move |_| match forward.f64() {
            x if x < loss => Fate::Drop,
            x if x < loss + late => Fate::Late(Delta::us(forward.i64(0..40_000))),
            _ => Fate::Pass,
        })
        .ack_fate(move |_| match backward.f64() {
            x if x < ack_loss => Fate::Drop,
            x if x < ack_loss + late => Fate::Late(Delta::us(backward.i64(0..20_000))),
            _ => Fate::Pass,
        })
}

/// Every byte was sent, none beyond the window or what was written.
fn check_sent(pipe: &Pipe, total: u64, seed: u64) {
    let mut next = 0;
    for (_, segment) in &pipe.sent {
        assert!(
            segment.seq <= next,
            "seed {seed}: a gap before {}",
            segment.seq
        );
        assert!(segment.len > 0 || segment.seq <= next, "seed {seed}");
        next = next.max(segment.end());
    }
    assert_eq!(next, total, "seed {seed}");
}

/// The right edge of the window never moves left.
fn check_windows(pipe: &Pipe, seed: u64) {
    let mut edge = 0;
    for (_, ack) in &pipe.acks {
        // Scaling may round the edge down by less than its unit.
        let offered = ack.ack + u64::from(ack.window);
        assert!(offered + 128 > edge, "seed {seed}: {offered} after {edge}");
        edge = edge.max(offered);
    }
}

fn check_counts(pipe: &Pipe, seed: u64) {
    let flow = pipe.sender.flow();
    let counts = (
        flow.packets_out,
        flow.sacked_out,
        flow.lost_out,
        flow.retrans_out,
    );
    assert_eq!(counts, (0, 0, 0, 0), "seed {seed}");
    let stats = pipe.sender.stats();
    let sent: u64 = pipe.sent.iter().map(|(_, s)| u64::from(s.len)).sum();
    assert_eq!(stats.bytes_sent, sent, "seed {seed}");
    assert_eq!(
        stats.bytes_acked + stats.retransmitted_bytes,
        sent,
        "seed {seed}"
    );
}

#[test]
fn every_byte_arrives_once_and_in_order_over_any_path() {
    for seed in 0..1_000 {
        let mut pipe = path(seed);
        let mut rng = Rng::with_seed(seed + 3);
        let mut total = 0;
        for _ in 0..rng.u32(1..6) {
            let bytes = rng.u64(1..120_000);
            total += bytes;
            pipe.write(bytes);
            pipe.run_for(Delta::ms(rng.i64(0..3_000)));
        }
        let mut waited = 0;
        while pipe.sender.unacknowledged() > 0 {
            pipe.run_for(Delta::secs(10));
            waited += 1;
            assert!(
                waited < 1_000,
                "seed {seed} hangs: {:?}",
                pipe.sender.stats()
            );
        }
        assert_eq!(pipe.receiver.received(), total, "seed {seed}");
        assert_eq!(pipe.receiver.readable(), 0, "seed {seed}");
        check_sent(&pipe, total, seed);
        check_windows(&pipe, seed);
        check_counts(&pipe, seed);
    }
}

#[test]
fn a_reader_that_stops_and_starts_loses_nothing_and_closes_the_window() {
    for seed in 0..60 {
        let mut pipe = path(seed);
        pipe.reads = false;
        let mut rng = Rng::with_seed(seed + 3);
        let total = rng.u64(100_000..800_000);
        pipe.write(total);
        let (mut read, mut idle) = (0, 0);
        while read < total {
            pipe.run_for(Delta::ms(rng.i64(1..4_000)));
            let got = pipe.receiver.read(pipe.now, rng.u64(1..100_000));
            pipe.answer();
            read += got;
            idle = if got > 0 { 0 } else { idle + 1 };
            assert!(idle < 2_000, "seed {seed} hangs at {read} of {total}");
        }
        check_windows(&pipe, seed);
    }
}

#[test]
fn the_same_path_gives_the_same_run_to_the_nanosecond() {
    let run = |seed| {
        let mut pipe = path(seed);
        pipe.write(300_000);
        pipe.run_until(Time::from_ns(30_000_000_000));
        let sent: Vec<(Time, Segment)> = pipe.sent;
        (sent, pipe.events)
    };
    for seed in 0..10 {
        assert!(run(seed) == run(seed), "seed {seed}");
    }
}

#[test]
fn segments_are_never_larger_than_allowed_and_carry_the_code_point_of_the_mode() {
    for seed in 0..40 {
        let mut pipe = path(seed);
        pipe.write(200_000);
        pipe.run_for(Delta::secs(5));
        let params = pipe.sender.params().clone();
        for (_, segment) in &pipe.sent {
            assert!(segment.len <= params.mss);
            assert_eq!(segment.timestamps.is_some(), params.timestamps);
            if params.ecn == EcnMode::Off {
                assert_eq!(segment.ecn, Ecn::NotEct);
            }
        }
    }
}
