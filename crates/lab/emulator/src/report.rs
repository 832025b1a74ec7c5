//! What is to be known of a run besides what happened on the path: whether to believe it.

use crate::timing::Privileges;
use std::fmt;
use unbloat_stats::LogHistogram;
use unbloat_units::Delta;

/// Counts of what the emulator did and of what happened outside the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets of the model that were handed to a device.
    pub handed: u64,
    /// Reads that gave a packet, large or not.
    pub reads: u64,
    pub writes: u64,
    /// How often the thread waited.
    pub waits: u64,
    /// Packets that were no sound IP packet, or for nobody on the other side; they are not part of the model.
    pub foreign: u64,
    /// Packets of the model that a device refused to take.
    pub refused: u64,
    /// Packets for which there was no memory.
    pub unkept: u64,
}

/// How well the emulator did its work.
#[derive(Clone, Debug)]
pub struct Report {
    pub counts: Counts,
    /// How much later than its logical departure each packet was handed to its device, in us.
    pub lateness_us: LogHistogram,
    pub wall: Delta,
    /// CPU time of the emulator's thread, kernel's share included: what receivers do with a packet at once is part of it.
    pub cpu: Delta,
    /// Time in which the thread could have run and another one did; none: this kernel does not tell.
    pub starved: Option<Delta>,
    /// Packets that devices dropped in their own queues, in front of or behind the path.
    pub device_drops: u64,
    pub privileges: Privileges,
    /// The round trip without any queue.
    pub base_rtt: Delta,
}

/// Why a run is not to be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// The 99th percentile of lateness was above its bound.
    Late { p99: Delta, bound: Delta },
    /// The thread waited for a CPU for that share of the time.
    Starved { share: f64 },
    /// The thread was busy for that share of the time: the machine is too slow for what it was to carry.
    Busy { share: f64 },
    /// Packets were lost outside the model.
    Lost { packets: u64 },
}

impl Report {
    /// Lateness below this is never held against a run: a hundredth of a round trip of 10 ms, and what a thread of the
    /// real-time class manages on a busy machine (research: p99 30 us from a timer, 55 us p99.9).
    pub const LATENESS_FLOOR: Delta = Delta::us(100);
    /// Share of the time for which the thread may wait for a CPU.
    pub const MOST_STARVED: f64 = 0.02;
    /// Share of the time for which the thread may be busy. Real-time threads are throttled at 0.95.
    pub const MOST_BUSY: f64 = 0.9;

    /// A hundredth of the base round-trip time, and no less than the floor.
    pub fn lateness_bound(&self) -> Delta {
        (self.base_rtt / 100).max(Report::LATENESS_FLOOR)
    }

    pub fn lateness_p99(&self) -> Delta {
        let p99_us = self.lateness_us.quantile(0.99).unwrap_or(0.0);
        Delta::ns((p99_us * 1e3) as i64)
    }

    /// Share of the time for which the thread was busy.
    pub fn load(&self) -> f64 {
        self.cpu.as_secs() / self.wall.as_secs().max(1e-9)
    }

    /// CPU time per packet of the model.
    pub fn cpu_per_packet(&self) -> Option<Delta> {
        (self.counts.handed > 0).then(|| Delta::ns(self.cpu.as_ns() / self.counts.handed as i64))
    }

    /// Packets that were lost outside the model.
    pub fn lost(&self) -> u64 {
        self.device_drops + self.counts.refused + self.counts.unkept
    }

    /// Every reason not to trust the run; none: it may be trusted.
    pub fn doubts(&self) -> Vec<Doubt> {
        let (p99, bound) = (self.lateness_p99(), self.lateness_bound());
        let starved = self.starved.unwrap_or(Delta::ZERO).as_secs() / self.wall.as_secs().max(1e-9);
        let lost = self.lost();
        let doubts = [
            (p99 > bound).then_some(Doubt::Late { p99, bound }),
            (starved > Report::MOST_STARVED).then_some(Doubt::Starved { share: starved }),
            (self.load() > Report::MOST_BUSY).then_some(Doubt::Busy { share: self.load() }),
            (lost > 0).then_some(Doubt::Lost { packets: lost }),
        ];
        doubts.into_iter().flatten().collect()
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Late { p99, bound } => write!(
                f,
                "1 in 100 packets left more than {p99} late; the limit is {bound}"
            ),
            Doubt::Starved { share } => write!(
                f,
                "the emulator's thread waited for a CPU {:.1} % of the time",
                share * 100.0
            ),
            Doubt::Busy { share } => write!(
                f,
                "the emulator's thread was busy {:.0} % of the time; the path is too fast for this machine",
                share * 100.0
            ),
            Doubt::Lost { packets } => write!(
                f,
                "{packets} packets were lost in devices, outside the path; raise their txqueuelen"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minute over a path of 40 ms, all packets 20 us late.
    fn quiet() -> Report {
        let mut lateness_us = LogHistogram::new();
        lateness_us.record_n(20.0, 10_000);
        Report {
            counts: Counts {
                handed: 10_000,
                ..Counts::default()
            },
            lateness_us,
            wall: Delta::secs(60),
            cpu: Delta::secs(3),
            starved: Some(Delta::ms(5)),
            device_drops: 0,
            privileges: Privileges::default(),
            base_rtt: Delta::ms(40),
        }
    }

    #[test]
    fn a_quiet_run_is_trusted() {
        let report = quiet();
        assert_eq!(report.doubts(), []);
        assert_eq!(report.lateness_bound(), Delta::us(400));
        assert_eq!(report.cpu_per_packet(), Some(Delta::us(300)));
    }

    #[test]
    fn one_packet_in_a_hundred_may_be_late_but_not_more() {
        let mut report = quiet();
        report.lateness_us.record_n(5_000.0, 100);
        assert_eq!(report.doubts(), []);
        report.lateness_us.record_n(5_000.0, 10);
        assert!(
            matches!(report.doubts()[..], [Doubt::Late { bound, .. }] if bound == Delta::us(400))
        );
    }

    #[test]
    fn short_paths_are_judged_by_the_floor() {
        let report = Report {
            base_rtt: Delta::ms(1),
            ..quiet()
        };
        assert_eq!(report.lateness_bound(), Report::LATENESS_FLOOR);
        assert_eq!(report.doubts(), []);
    }

    #[test]
    fn starving_toiling_and_losing_are_reasons_each() {
        let report = Report {
            starved: Some(Delta::secs(2)),
            cpu: Delta::secs(56),
            device_drops: 3,
            ..quiet()
        };
        let said: Vec<String> = report.doubts().iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), 3);
        assert!(said[0].contains("waited for a CPU 3.3 %"), "{said:?}");
        assert!(said[1].contains("busy 93 %"), "{said:?}");
        assert!(said[2].starts_with("3 packets were lost"), "{said:?}");
        let unknown = Report {
            starved: None,
            ..quiet()
        };
        assert_eq!(unknown.doubts(), []);
    }
}
