//! A tin: a traffic class with its own rate, its own flows and hosts.

use super::flow::{Flow, QUEUES, Set};
use super::hosts::Hosts;
use super::params::{Diffserv, Params};
use crate::chain::Chains;
use crate::law::cobalt;
use crate::packet::Dscp;
use fastrand::Rng;
use unbloat_units::{Delta, Rate, Time};

/// Most that a flow sends in its turn, in bytes: reached at 50 Mbit/s.
const FULL_QUANTUM: u64 = 1_514;

/// Lists of flows in the order in which they are served.
pub(super) const NEW: usize = 0;
pub(super) const OLD: usize = 1;
pub(super) const DECAYING: usize = 2;

/// What is reported of a tin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TinStats {
    pub sent_packets: u64,
    pub sojourn_drops: u64,
    pub blue_drops: u64,
    pub overflow_drops: u64,
    pub ack_drops: u64,
    pub marks: u64,
    /// Packets whose flow found its queue in another place of its set.
    pub way_hits: u64,
    /// Flows that got an unused queue.
    pub way_misses: u64,
    /// Packets that share a queue with another flow's.
    pub way_collisions: u64,
    /// Moving average of the sojourn; like the next two in steps of 1/256 (peak: up, base: down 1/4).
    pub mean_delay: Delta,
    pub peak_delay: Delta,
    pub base_delay: Delta,
}

/// A rate as time per byte: `ns >> shift` is in nanoseconds. An unlimited rate takes no time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pace {
    ns: u64,
    shift: u32,
}

impl Pace {
    /// `rate` in bytes per second.
    fn new(rate: u64) -> Pace {
        const SLOWEST: u64 = 64;
        if rate == 0 {
            return Pace::default();
        }
        let mut pace = Pace {
            ns: (1_000_000_000 << 34) / rate.max(SLOWEST),
            shift: 34,
        };
        while pace.ns >> 34 != 0 {
            pace.ns >>= 1;
            pace.shift -= 1;
        }
        pace
    }

    pub(super) fn is_limited(self) -> bool {
        self.ns != 0
    }

    #[inline]
    pub(super) fn time_of(self, bytes: u32) -> Delta {
        Delta::ns(((u64::from(bytes) * self.ns) >> self.shift) as i64)
    }
}

/// What of a tin follows from its rate.
struct Tune {
    law: cobalt::Params,
    pace: Pace,
    flow_quantum: u32,
}

impl Tune {
    /// `rate` in bytes per second, 0 for no limit.
    fn of(rate: u64, params: &Params) -> Tune {
        let pace = Pace::new(rate);
        let mtu_time = pace.time_of(params.device.frame_mtu());
        let target = params.target.max(mtu_time * 3 / 2);
        let interval = (params.rtt + target - params.target).max(target * 2);
        Tune {
            law: cobalt::Params::new(target, interval, mtu_time),
            pace,
            flow_quantum: match rate {
                0 => FULL_QUANTUM as u32,
                _ => (rate >> 12).clamp(300, FULL_QUANTUM) as u32,
            },
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Tin {
    pub(super) flows: Vec<Flow>,
    /// The hash of the flow to which a queue belongs.
    pub(super) tags: Vec<u32>,
    pub(super) hosts: Hosts,
    pub(super) chains: Chains<3>,
    pub(super) law: cobalt::Params,
    pub(super) pace: Pace,
    pub(super) time_next: Time,
    /// Bytes that a flow may send in its turn.
    flow_quantum: u32,
    /// The tin's own share when there is no shaper.
    pub(super) quantum: i32,
    pub(super) deficit: i32,
    /// Bytes of frames.
    pub(super) backlog: u64,
    pub(super) sparse: u32,
    pub(super) bulk: u32,
    pub(super) stats: TinStats,
}

impl Tin {
    /// `rate` in bytes per second, 0 for no limit.
    fn new(rate: u64, quantum: u32, params: &Params) -> Tin {
        let tune = Tune::of(rate, params);
        Tin {
            flows: vec![Flow::default(); QUEUES],
            tags: vec![0; QUEUES],
            hosts: Hosts::new(),
            chains: Chains::new(QUEUES as u16),
            law: tune.law,
            pace: tune.pace,
            time_next: Time::from_ns(0),
            flow_quantum: tune.flow_quantum,
            quantum: quantum as i32,
            deficit: 0,
            backlog: 0,
            sparse: 0,
            bulk: 0,
            stats: TinStats::default(),
        }
    }

    /// Goes on at another rate; what stands in its queues stays.
    fn retune(&mut self, rate: u64, params: &Params) {
        let tune = Tune::of(rate, params);
        (self.law, self.pace, self.flow_quantum) = (tune.law, tune.pace, tune.flow_quantum);
    }

    /// Whether there is a flow to serve.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// What the flow may send in its turn: its host's share, rounded by chance so that nothing is lost.
    #[inline]
    pub(super) fn quantum_of(&self, flow: u16, params: &Params, rng: &mut Rng) -> i32 {
        let load = self
            .hosts
            .load_of(&self.flows[usize::from(flow)], params.isolation);
        let share = u32::from(u16::MAX / load);
        ((self.flow_quantum * share + u32::from(rng.u16(..))) >> 16) as i32
    }

    pub(super) fn become_bulk(&mut self, flow: u16, params: &Params) {
        let state = &mut self.flows[usize::from(flow)];
        state.set = Set::Bulk;
        self.sparse -= 1;
        self.bulk += 1;
        self.hosts.join_bulk(state, params.isolation);
    }

    /// Takes an empty flow out of the counts of what is served.
    pub(super) fn retire(&mut self, flow: u16, into: Set, params: &Params) {
        let state = &mut self.flows[usize::from(flow)];
        match state.set {
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Bulk => {
                self.bulk -= 1;
                self.hosts.leave_bulk(state, params.isolation);
            }
            Set::Idle | Set::Decaying => {}
        }
        state.set = into;
    }

    pub(super) fn note_delay(&mut self, delay: Delta) {
        let stats = &mut self.stats;
        stats.mean_delay = moved(stats.mean_delay, delay, 8);
        let up = delay > stats.peak_delay;
        stats.peak_delay = moved(stats.peak_delay, delay, if up { 2 } else { 8 });
        let down = delay < stats.base_delay;
        stats.base_delay = moved(stats.base_delay, delay, if down { 2 } else { 8 });
    }
}

fn moved(mean: Delta, sample: Delta, shift: u32) -> Delta {
    Delta::ns(mean.as_ns() - (mean.as_ns() >> shift) + (sample.as_ns() >> shift))
}

/// The tins for a rate (Linux `cake_config_*`), and the tin of each DSCP.
pub(super) fn build(params: &Params) -> (Vec<Tin>, &'static [u8; 64]) {
    let (shares, tin_of_dscp) = shares(params);
    let tins = shares
        .into_iter()
        .map(|(rate, quantum)| Tin::new(rate, quantum, params));
    (tins.collect(), tin_of_dscp)
}

/// The tins go on at the rate of `params` (Linux `cake_reconfigure`).
pub(super) fn retune(tins: &mut [Tin], params: &Params) {
    for (tin, (rate, _)) in tins.iter_mut().zip(shares(params).0) {
        tin.retune(rate, params);
    }
}

/// Rate in bytes per second and quantum of each tin, and the tin of each DSCP.
fn shares(params: &Params) -> (Vec<(u64, u32)>, &'static [u8; 64]) {
    let rate = params.rate.map_or(0, |rate: Rate| rate.as_bps() / 8);
    match params.diffserv {
        Diffserv::Besteffort => (vec![(rate, 65_535)], &BESTEFFORT),
        Diffserv::Diffserv3 => (
            vec![
                (rate, 1_024),
                (rate >> 4, 1_024 >> 4),
                (rate >> 2, 1_024 >> 2),
            ],
            &DIFFSERV3,
        ),
        Diffserv::Diffserv4 => (
            vec![
                (rate, 1_024),
                (rate >> 4, 1_024 >> 4),
                (rate >> 1, 1_024 >> 1),
                (rate >> 2, 1_024 >> 2),
            ],
            &DIFFSERV4,
        ),
        Diffserv::Diffserv8 => {
            // Each tin has 7/8 of the one before.
            let classes = std::iter::successors(Some((rate, 256_u32)), |(share, quantum)| {
                Some(((share * 7) >> 3, (quantum * 7) >> 3))
            });
            let classes = classes
                .take(8)
                .map(|(share, quantum)| (share, quantum.max(1)));
            (classes.collect(), &DIFFSERV8)
        }
    }
}

/// The tin for a code point.
pub(super) fn of_dscp(table: &[u8; 64], dscp: Dscp) -> usize {
    usize::from(table[usize::from(dscp.0 & 63)])
}

const BESTEFFORT: [u8; 64] = [0; 64];

/// Bulk (LE, CS1) is tin 1, voice (EF, VA, CS6, CS7, TOS4) tin 2.
const DIFFSERV3: [u8; 64] = table(0, &[(1, &[1, 8]), (2, &[4, 44, 46, 48, 56])]);

/// Bulk is tin 1, video (AF2-4, CS2, CS3, TOS4) tin 2, voice (EF, VA, CS4 to CS7) tin 3.
const DIFFSERV4: [u8; 64] = table(
    0,
    &[
        (1, &[1, 8]),
        (2, &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]),
        (3, &[32, 40, 44, 46, 48, 56]),
    ],
);

/// From background (LE) over best effort, tin 2, to network control (CS6, CS7).
const DIFFSERV8: [u8; 64] = table(
    2,
    &[
        (0, &[1]),
        (1, &[2, 8, 10, 12, 14]),
        (3, &[24, 26, 28, 30, 34, 36, 38]),
        (4, &[4, 18, 20, 22]),
        (5, &[16]),
        (6, &[32, 40, 44, 46]),
        (7, &[48, 56]),
    ],
);

const fn table(rest: u8, classes: &[(u8, &[u8])]) -> [u8; 64] {
    let mut tins = [rest; 64];
    let mut at = 0;
    while at < classes.len() {
        let (tin, code_points) = classes[at];
        let mut k = 0;
        while k < code_points.len() {
            tins[code_points[k] as usize] = tin;
            k += 1;
        }
        at += 1;
    }
    tins
}

/// The memory that packets may take (Linux `cake_reconfigure`).
pub(super) fn memory_limit(params: &Params) -> u64 {
    const PACKETS: u64 = 10_240;
    let set = params.memory_limit.map(|limit| limit.as_u64());
    let most = PACKETS * u64::from(params.device.frame_mtu());
    let wanted = match (set, params.rate) {
        (Some(limit), _) => limit,
        (None, Some(rate)) => {
            let us = params.rtt.as_us().max(1) as u64;
            (rate.as_bps() / 8 * us / 250_000).max(4 << 20)
        }
        (None, None) => u64::MAX,
    };
    wanted.min(most.max(set.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mbps: u64, diffserv: Diffserv) -> Vec<Tin> {
        let params = Params {
            rate: Some(Rate::mbps(mbps)),
            diffserv,
            ..Params::default()
        };
        build(&params).0
    }

    #[test]
    fn a_byte_takes_its_time_to_a_part_in_a_billion() {
        for (mbps, ns) in [(1, 8_000), (100, 80), (8_000, 1)] {
            let pace = Pace::new(mbps * 1_000_000 / 8);
            assert!(
                (pace.time_of(1_500).as_ns() - 1_500 * ns).abs() <= 1,
                "{mbps}"
            );
        }
    }

    #[test]
    fn low_rates_widen_target_and_interval() {
        // 1 Mbit/s: 1,514 bytes take 12.112 ms; target 1.5 of that, interval 100 ms + the excess.
        let tins = at(1, Diffserv::Besteffort);
        assert_eq!(tins[0].law.target.as_us(), 18_168);
        assert_eq!(tins[0].law.interval.as_us(), 113_168);
        assert_eq!(tins[0].flow_quantum, 300);
        let fast = at(100, Diffserv::Besteffort);
        assert_eq!(
            (fast[0].law.target, fast[0].flow_quantum),
            (Delta::ms(5), 1_514)
        );
    }

    #[test]
    fn code_points_go_to_the_tins_that_the_manual_names() {
        // CS0, LE, CS1, AF11, CS2, AF41, CS4, EF, CS6.
        let code_points = [0, 1, 8, 10, 16, 34, 32, 46, 48];
        let tins = |table: &[u8; 64]| code_points.map(|dscp| of_dscp(table, Dscp(dscp)));
        assert_eq!(tins(&BESTEFFORT), [0; 9]);
        assert_eq!(tins(&DIFFSERV3), [0, 1, 1, 0, 0, 0, 0, 2, 2]);
        assert_eq!(tins(&DIFFSERV4), [0, 1, 1, 0, 2, 2, 3, 3, 3]);
        assert_eq!(tins(&DIFFSERV8), [2, 0, 1, 1, 5, 3, 6, 6, 7]);
        assert_eq!(at(10, Diffserv::Diffserv8).len(), 8);
    }

    #[test]
    fn memory_is_four_times_the_bandwidth_delay_product_within_bounds() {
        let limit = |rate| {
            memory_limit(&Params {
                rate,
                ..Params::default()
            })
        };
        assert_eq!(limit(Some(Rate::mbps(10))), 4 << 20);
        assert_eq!(limit(Some(Rate::mbps(200))), 10_000_000);
        assert_eq!(limit(None), 10_240 * 1_514);
    }
}
