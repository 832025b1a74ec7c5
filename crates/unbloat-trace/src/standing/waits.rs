//! Delays that no queue makes, of all series of a flow.

use super::lateness::{Lateness, Sample};
use super::window::Series;
use unbloat_stats::LogHistogram;
use unbloat_units::Delta;

/// What makes packets late, if no queue does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The server had to make its answer first.
    Think,
    /// A radio or a host slept.
    Wake,
    /// A radio that listens at beacons only (IEEE 802.11 power save).
    PowerSave,
    /// The host held an acknowledgment back (RFC 1122 §4.2.3.2).
    DelayedAck,
    /// The path let nothing pass for a while, and then all at once.
    Hold,
    /// The path delays now more, now less: contention, grants, repeats.
    Jitter,
}

impl Wait {
    pub(crate) const COUNT: usize = 6;
}

/// Since the first late sample of the flow.
#[derive(Clone, Default)]
pub(super) struct Waits {
    series: [Lateness; Series::COUNT],
    think: LogHistogram,
}

/// One kind of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WaitFound {
    pub(crate) samples: u32,
    /// Median; of holds the longest.
    pub(crate) median_ms: Option<f64>,
}

impl WaitFound {
    pub(super) fn of(all: &LogHistogram) -> WaitFound {
        WaitFound {
            samples: u32::try_from(all.count()).unwrap_or(u32::MAX),
            median_ms: all.quantile(0.5).map(|us| us / 1e3),
        }
    }
}

impl Waits {
    pub(super) fn add(&mut self, series: Series, sample: &Sample) {
        self.series[series.index()].add(sample);
    }

    pub(super) fn add_think(&mut self, thought: Delta) {
        self.think.record(thought.as_us() as f64);
    }

    /// Late samples begin anew.
    pub(super) fn forget_late(&mut self) {
        self.series = Default::default();
    }

    pub(super) fn late(&self, series: Series) -> [WaitFound; Wait::COUNT] {
        self.series[series.index()].found()
    }

    pub(super) fn think(&self) -> WaitFound {
        WaitFound::of(&self.think)
    }
}
