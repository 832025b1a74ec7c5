//! What the programs in the kernel count of a flow, as it stands in their maps.

use crate::spread::Spread;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use unbloat_units::Delta;

/// Bins of [`Times`]: `BINS` of `bpf/watch.bpf.c`.
const BINS: usize = 104;
/// Nanoseconds of the bins' unit.
const UNIT_NS: u64 = 1 << 10;

/// A flow as it leaves by one device: `struct key` of `bpf/packet.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    from: [u8; 16],
    to: [u8; 16],
    from_port: u16,
    to_port: u16,
    pub(crate) ifindex: u32,
    version: u8,
    pub(crate) protocol: u8,
    zero: u16,
}

impl Key {
    pub(crate) fn from(&self) -> (IpAddr, u16) {
        (self.address(self.from), u16::from_be(self.from_port))
    }

    pub(crate) fn to(&self) -> (IpAddr, u16) {
        (self.address(self.to), u16::from_be(self.to_port))
    }

    fn address(&self, bytes: [u8; 16]) -> IpAddr {
        match self.version {
            4 => Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into(),
            _ => Ipv6Addr::from(bytes).into(),
        }
    }
}

/// Times by their logarithm: `struct times` of `bpf/watch.bpf.c`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    count: u64,
    sum_ns: u64,
    bins: [u32; BINS],
}

impl Default for Times {
    fn default() -> Times {
        Times {
            count: 0,
            sum_ns: 0,
            bins: [0; BINS],
        }
    }
}

impl Times {
    pub(crate) fn add(&mut self, other: &Times) {
        self.count = self.count.wrapping_add(other.count);
        self.sum_ns = self.sum_ns.wrapping_add(other.sum_ns);
        for (bin, more) in self.bins.iter_mut().zip(&other.bins) {
            *bin = bin.wrapping_add(*more);
        }
    }

    fn since(&self, before: &Times) -> Times {
        let mut since = *self;
        since.count = self.count.wrapping_sub(before.count);
        since.sum_ns = self.sum_ns.wrapping_sub(before.sum_ns);
        for (bin, less) in since.bins.iter_mut().zip(&before.bins) {
            *bin = bin.wrapping_sub(*less);
        }
        since
    }

    /// None of nothing.
    pub(crate) fn spread(&self) -> Option<Spread> {
        let mean = self.sum_ns.checked_div(self.count)?;
        let whole: u64 = self.bins.iter().map(|&bin| u64::from(bin)).sum();
        Some(Spread {
            count: self.count,
            mean: delta(mean),
            p50: delta(self.quantile(whole, 0.50)),
            p95: delta(self.quantile(whole, 0.95)),
            p99: delta(self.quantile(whole, 0.99)),
        })
    }

    /// Within a bin, times are taken to lie evenly.
    fn quantile(&self, whole: u64, share: f64) -> u64 {
        let rank = share * whole as f64;
        let mut below = 0.0;
        for (at, &count) in self.bins.iter().enumerate() {
            let count = f64::from(count);
            if count > 0.0 && below + count >= rank {
                let (low, high) = (edge(at), edge(at + 1));
                let within = (rank - below) / count;
                return (low + (high - low) * within) as u64;
            }
            below += count;
        }
        edge(BINS) as u64
    }
}

/// Where a bin begins, in nanoseconds.
fn edge(bin: usize) -> f64 {
    let units = match bin {
        0..4 => bin as u64,
        _ => (4 + (bin as u64 & 3)) << ((bin >> 2) - 1),
    };
    (units * UNIT_NS) as f64
}

fn delta(ns: u64) -> Delta {
    Delta::ns(i64::try_from(ns).unwrap_or(i64::MAX))
}

/// `struct counts` of `bpf/watch.bpf.c`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) entered_bytes: u64,
    pub(crate) entered_packets: u64,
    pub(crate) left_bytes: u64,
    pub(crate) left_packets: u64,
    pub(crate) done_bytes: u64,
    pub(crate) done_packets: u64,
    pub(crate) untimed_packets: u64,
    /// Of no use here.
    timed_ns: u64,
    pub(crate) qdisc: Times,
    pub(crate) driver: Times,
    pub(crate) rtt_q: Times,
    pub(crate) rtt_f: Times,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Counts) {
        for (mine, theirs) in self.numbers_mut().into_iter().zip(other.numbers()) {
            *mine = mine.wrapping_add(theirs);
        }
        self.qdisc.add(&other.qdisc);
        self.driver.add(&other.driver);
        self.rtt_q.add(&other.rtt_q);
        self.rtt_f.add(&other.rtt_f);
    }

    /// What was counted since; all of it if the flow had been forgotten in between.
    pub(crate) fn since(&self, before: &Counts) -> Counts {
        let mut pairs = self.numbers().into_iter().zip(before.numbers());
        if pairs.any(|(now, then)| now < then) {
            return *self;
        }
        let mut since = *self;
        for (now, then) in since.numbers_mut().into_iter().zip(before.numbers()) {
            *now -= then;
        }
        since.qdisc = self.qdisc.since(&before.qdisc);
        since.driver = self.driver.since(&before.driver);
        since.rtt_q = self.rtt_q.since(&before.rtt_q);
        since.rtt_f = self.rtt_f.since(&before.rtt_f);
        since
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.entered_packets == 0 && self.left_packets == 0 && self.done_packets == 0
    }

    fn numbers(&self) -> [u64; 7] {
        let mut copy = *self;
        copy.numbers_mut().map(|number| *number)
    }

    fn numbers_mut(&mut self) -> [&mut u64; 7] {
        [
            &mut self.entered_bytes,
            &mut self.entered_packets,
            &mut self.left_bytes,
            &mut self.left_packets,
            &mut self.done_bytes,
            &mut self.done_packets,
            &mut self.untimed_packets,
        ]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// As `note` of `bpf/watch.bpf.c`.
    pub(crate) fn note(times: &mut Times, ns: u64) {
        let units = (ns >> 10).min(0x3ff_ffff) as u32;
        let bin = match units {
            0..4 => units,
            _ => {
                let octave = units.ilog2();
                ((octave - 1) << 2) + ((units >> (octave - 2)) & 3)
            }
        };
        times.count += 1;
        times.sum_ns += ns;
        times.bins[bin as usize] += 1;
    }

    #[test]
    fn every_time_lies_within_its_bin() {
        for ns in
            (0..36).flat_map(|n| [(1u64 << n) - 1, 1 << n, (1 << n) * 5 / 4, (1 << n) * 7 / 4])
        {
            let mut times = Times::default();
            note(&mut times, ns);
            let bin = times.bins.iter().position(|&count| count == 1).unwrap();
            let ns = ns as f64;
            assert!(edge(bin) <= ns && ns < edge(bin + 1), "{ns} {bin}");
            assert!(bin < 4 || edge(bin + 1) <= 1.26 * edge(bin), "{bin}");
        }
    }

    #[test]
    fn the_mean_is_exact_and_quantiles_are_within_an_eighth() {
        let mut times = Times::default();
        (1..=1000).for_each(|ms| note(&mut times, ms * 1_000_000));
        let spread = times.spread().unwrap();
        assert_eq!((spread.count, spread.mean), (1000, Delta::us(500_500)));
        for (quantile, ms) in [
            (spread.p50, 500.0),
            (spread.p95, 950.0),
            (spread.p99, 990.0),
        ] {
            assert!(
                (quantile.as_ms() / ms - 1.0).abs() < 0.125,
                "{quantile} {ms}"
            );
        }
        assert_eq!(Times::default().spread(), None);
    }

    #[test]
    fn what_was_counted_before_is_not_counted_again() {
        let mut before = Counts {
            left_bytes: 10,
            left_packets: 1,
            ..Counts::default()
        };
        note(&mut before.qdisc, 5_000_000);
        let mut now = before;
        now.add(&Counts {
            left_bytes: 7,
            left_packets: 2,
            ..Counts::default()
        });
        note(&mut now.qdisc, 9_000_000);
        let since = now.since(&before);
        assert_eq!((since.left_bytes, since.left_packets), (7, 2));
        let spread = since.qdisc.spread().unwrap();
        assert_eq!((spread.count, spread.mean), (1, Delta::ms(9)));
        assert!(now.since(&now).is_idle());
    }

    #[test]
    fn a_flow_that_was_forgotten_in_between_begins_anew() {
        let before = Counts {
            left_bytes: 1_000,
            left_packets: 5,
            ..Counts::default()
        };
        let now = Counts {
            left_bytes: 1_500,
            left_packets: 1,
            ..Counts::default()
        };
        assert_eq!(now.since(&before).left_bytes, 1_500);
    }
}
