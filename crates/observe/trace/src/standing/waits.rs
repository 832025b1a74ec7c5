//! Delays that no queue makes, of all series of a flow.

use super::lateness::{Lateness, Sample};
use super::wait::{Wait, WaitFound};
use super::window::Series;
use unbloat_stats::LogHistogram;
use unbloat_units::Delta;

/// Since the first late sample of the flow.
#[derive(Clone, Default)]
pub(super) struct Waits {
    series: [Lateness; Series::COUNT],
    think: LogHistogram,
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
