//! Delays that no queue makes, of both legs of a flow.

use super::lateness::{Lateness, Sample};
use super::wait::{Wait, WaitFound};
use unbloat_stats::LogHistogram;
use unbloat_units::{Both, Delta, Direction};

/// Since the first late sample of the flow.
#[derive(Clone, Default)]
pub(super) struct Waits {
    legs: Both<Lateness>,
    think: LogHistogram,
}

impl Waits {
    pub(super) fn add(&mut self, leg: Direction, sample: &Sample) {
        self.legs[leg].add(sample);
    }

    pub(super) fn add_think(&mut self, thought: Delta) {
        self.think.record(thought.as_us() as f64);
    }

    pub(super) fn late(&self, leg: Direction) -> [WaitFound; Wait::COUNT] {
        self.legs[leg].found()
    }

    pub(super) fn think(&self) -> WaitFound {
        WaitFound::of(&self.think)
    }
}
