//! Queues against the laws they obey: a recursion packet by packet, then the closed forms.

use crate::datagrams::chain::{Chain, Estimate};
use crate::datagrams::{Arrivals, Load, arrivals, bottleneck, experiment, line};
use crate::support::fifo;
use std::collections::VecDeque;
use unbloat_experiment::outcome::Outcomes;
use unbloat_link::service::{Config as Service, bucket};
use unbloat_link::{Config as Element, Place};
use unbloat_sim::run;
use unbloat_stats::LogHistogram;
use unbloat_units::{Bytes, Delta, Rate, Time};
use unbloat_workload::kind::onoff::Sizes;

/// What a first-in first-out queue does to packets.
#[derive(Default)]
struct Fate {
    waits: Vec<(Time, Delta)>,
    departures: Vec<(Time, Bytes)>,
    drops: Vec<Time>,
}

impl Fate {
    /// Lindley's recursion for a queue that holds `places`, the packet in service included, and a server that has sent the
    /// next packet at `finish(begin, bytes)`.
    fn of(arrivals: &Arrivals, places: usize, mut finish: impl FnMut(Time, Bytes) -> Time) -> Fate {
        let mut fate = Fate::default();
        let mut inside: VecDeque<Time> = VecDeque::new();
        for &(at, size) in arrivals {
            while inside.front().is_some_and(|left| *left <= at) {
                inside.pop_front();
            }
            if inside.len() >= places {
                fate.drops.push(at);
                continue;
            }
            let begin = inside.back().map_or(at, |left| *left);
            let left = finish(begin, size);
            fate.waits.push((begin, begin - at));
            fate.departures.push((left, size));
            inside.push_back(left);
        }
        fate
    }

    /// Holds a run to it, up to the moment at which the run ends.
    fn assert_is(&self, outcomes: &Outcomes) {
        let (end, path) = (outcomes.end, &outcomes.paths.down);
        let waits = self.waits.iter().filter(|(at, _)| *at <= end);
        let (mut ms, mut sum, mut max) = (LogHistogram::new(), 0.0, Delta::ZERO);
        for (_, wait) in waits {
            ms.record(wait.as_ms());
            sum += wait.as_ms();
            max = max.max(*wait);
        }
        let found = path.waits(Place::Queue).expect("packets pass");
        assert_eq!((found.ms.count(), found.max), (ms.count(), max));
        assert_eq!(found.mean_ms(), Some(sum / ms.count() as f64));
        assert_eq!(found.ms.steps(), ms.steps());
        let left = self.departures.iter().filter(|(at, _)| *at <= end);
        let bytes: Bytes = left.clone().map(|(_, size)| *size).sum();
        let delivered = (path.delivered_packets, path.delivered_bytes);
        assert_eq!(delivered, (left.count() as u64, bytes));
        let lost = self.drops.iter().filter(|at| **at <= end).count();
        assert_eq!(path.dropped_packets, lost as u64);
    }
}

fn assert_fate(
    load: Load,
    link: &Element,
    places: usize,
    mut finish: impl FnMut(Time, Bytes) -> Time,
) -> Fate {
    let mut plan = experiment(load, link.clone(), 7);
    plan.duration = Delta::secs(40);
    let fate = Fate::of(&arrivals(&plan), places, &mut finish);
    // Runs that end ever later: what one has over the one before is a handful of packets.
    for tenths in (1..40).chain([400]) {
        plan.duration = Delta::ms(100 * tenths);
        fate.assert_is(&run(&plan));
    }
    fate
}

#[test]
fn waits_departures_and_drops_are_those_of_lindleys_recursion_packet_by_packet() {
    for sizes in [Sizes::Fixed, Sizes::Exponential] {
        for rho in [0.5, 0.8, 0.95, 0.99, 1.5] {
            for places in [1, 2, 10, 1_000] {
                let at_rate = |begin: Time, size: Bytes| begin + Delta::ns(size.as_u64() as i64);
                for bursts in [None, Some((10.0, 30.0))] {
                    let load = Load { rho, sizes, bursts };
                    let fate = assert_fate(load, &line(places), places as usize, at_rate);
                    assert!(fate.departures.len() > 5_000);
                }
            }
        }
    }
}

/// By the definition of the bucket, in bits times a billion: full at the start, it fills at the rate, and a packet leaves in
/// the first nanosecond in which it holds its bits.
#[test]
fn a_token_bucket_lets_every_packet_go_at_the_nanosecond_at_which_its_tokens_are_there() {
    let (rate, burst) = (7_999_999_999_i128, 2_500_000_i128);
    let link = bottleneck(
        fifo(999),
        Service::Bucket(bucket::Params {
            rate: Rate::bps(rate as u64),
            burst: Bytes::new(burst as u64),
            peak: None,
        }),
    );
    for rho in [0.7, 0.95, 1.5] {
        let full = burst * 8 * 1_000_000_000;
        let (mut tokens, mut as_of) = (full, Time::from_ns(0));
        let mut waited = 0;
        let finish = |begin: Time, size: Bytes| {
            let flowed = rate * i128::from((begin - as_of).as_ns());
            let there = (tokens + flowed).min(full);
            let missing = (i128::from(size.as_u64()) * 8_000_000_000 - there).max(0);
            let wait = (missing + rate - 1) / rate;
            waited += i32::from(wait > 0);
            tokens = there + wait * rate - i128::from(size.as_u64()) * 8_000_000_000;
            as_of = begin + Delta::ns(wait as i64);
            as_of
        };
        assert_fate(Load::poisson(rho, Sizes::Fixed), &link, 1_000, finish);
        assert!(waited > 50, "{waited} at {rho}");
    }
}

/// Within 1 % of the closed form, with a standard error of at most half of that.
fn assert_close(chain: Chain) {
    let model = chain.model();
    // Rarer losses would need more packets.
    let has_losses = model.loss() > 0.05;
    let found =
        chain.simulate(chain.packets_for(0.003, if has_losses { model.loss() } else { 1.0 }));
    let close = |what: &str, estimate: Estimate, expected: f64| {
        let (off, error) = (estimate.mean / expected - 1.0, estimate.error / expected);
        assert!(
            off.abs() < 0.01 && error < 0.005,
            "{what} of {chain:?}: {estimate:?} instead of {expected}"
        );
    };
    close("delay", found.delay, model.mean_delay());
    if has_losses {
        close("loss", found.loss, model.loss());
    }
}

#[test]
fn delay_and_loss_are_those_of_mm1k() {
    for (rho, places) in [(0.5, 1), (0.99, 1), (0.8, 5), (0.95, 8), (0.5, 1_000)] {
        let load = Load::poisson(rho, Sizes::Exponential);
        assert_close(Chain { load, places });
    }
}

#[test]
fn delay_and_loss_are_those_of_md1k() {
    for (rho, places) in [(0.5, 1), (0.99, 2), (0.8, 5), (0.95, 8), (0.5, 1_000)] {
        let load = Load::poisson(rho, Sizes::Fixed);
        assert_close(Chain { load, places });
    }
}

#[test]
fn delay_and_loss_are_those_of_ipp_m1k() {
    for (rho, places, on, off) in [
        (0.5, 3, 2.0, 2.0),
        (0.95, 5, 4.0, 2.0),
        (0.5, 100, 1.0, 1.0),
    ] {
        let load = Load {
            bursts: Some((on, off)),
            ..Load::poisson(rho, Sizes::Exponential)
        };
        assert_close(Chain { load, places });
    }
}
