//! NAME: what it does, in one line.
//!
//! # References
//! Author, "Title", venue, year, section; RFC; Linux file.
//!
//! # Where we differ
//! 1. What, and why.

use super::{Congestion, Flow, newreno};
use unbloat_params::range::WEIGHT;
use unbloat_params::{Read, Settings};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Segments to grow by in a round.
    pub growth: u32,
}

impl Default for Params {
    /// As in the reference.
    fn default() -> Params {
        Params { growth: 1 }
    }
}

impl<S: Settings> Read<S> for Params {
    fn read(settings: &mut S) -> Result<Params, S::Error> {
        let default = Params::default();
        Ok(Params {
            growth: settings.within("growth", default.growth, &WEIGHT)?,
        })
    }
}

#[derive(Clone, Debug)]
pub struct TYPE {
    params: Params,
}

impl TYPE {
    pub fn new(params: Params) -> TYPE {
        TYPE { params }
    }
}

impl Congestion for TYPE {
    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        newreno::half(flow)
    }

    fn avoid(&mut self, flow: &mut Flow, acked: u32) {
        newreno::avoid(flow, acked.saturating_mul(self.params.growth));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn congestion_halves_the_window() {
        let mut flow = Flow::new(1_448, 20, 250);
        let mut control = TYPE::new(Params::default());
        assert_eq!(control.ssthresh(&mut flow), 10);
    }
}
