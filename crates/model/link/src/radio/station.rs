//! What drives both directions of LTE: TTIs in which there is something to do, and blocks whose fate is known.

use super::air::{Air, Outcome};
use super::grid::Grid;
use crate::seam::Output;
use unbloat_units::Time;

/// One direction of the radio: its transmitter and its receiver.
pub(super) trait Station {
    /// What a block tells besides its data.
    type Report;

    fn grid(&self) -> Grid;
    fn air(&self) -> &Air<Self::Report>;
    fn air_mut(&mut self) -> &mut Air<Self::Report>;
    /// The next TTI with something to do.
    fn next_tti(&self) -> Option<i64>;
    /// Does what there is to do in a TTI.
    fn tti(&mut self, tti: i64, out: &mut impl Output);
    /// Takes in what has become of a block.
    fn outcome(&mut self, now: Time, outcome: Outcome<Self::Report>, out: &mut impl Output);

    fn due(&self) -> Option<Time> {
        let tti = self.next_tti().map(|tti| self.grid().time(tti));
        tti.into_iter().chain(self.air().next_at()).min()
    }

    /// Does all that is due at or before `now`: at one time what was decoded before what is sent.
    fn catch_up(&mut self, now: Time, out: &mut impl Output) {
        while let Some(at) = self.due()
            && at <= now
        {
            match (self.air_mut().outcome(at), self.next_tti()) {
                (Some(outcome), _) => self.outcome(at, outcome, out),
                (None, Some(tti)) => self.tti(tti, out),
                (None, None) => return,
            }
        }
    }
}
