//! How many bytes a TTI carries.

use super::grid::Grid;
use crate::service::chances::{self, CHANCE_BYTES};
use crate::service::constant;
use crate::service::markov::{self, Chain};
use crate::service::profile::Profile;
use crate::service::steps::{self, Schedule};
use crate::service::work::{self, PER_BYTE};
use crate::trace::Chances as Trace;
use fastrand::Rng;
use std::sync::Arc;
use unbloat_units::{Rate, Time};

/// The rate of the radio link over time: what the scheduler has for this user at the MAC layer,
/// headers of MAC and RLC included, retransmissions not yet taken off.
///
/// Chances of a trace were recorded behind a radio: each is 1,500 bytes of the block that is on the air just
/// before its time. What failed and came again is already in their times, so a trace goes with a `bler` of 0 unless the link is to be worse.
#[derive(Clone, Debug, PartialEq)]
pub enum Rates {
    Constant(constant::Params),
    Steps(steps::Params),
    Markov(markov::Params),
    Chances(chances::Params),
}

/// Whole bytes for each TTI, so that over any run of TTIs in use their sum is the integral of the
/// rate rounded down once.
#[derive(Debug)]
pub(crate) struct Capacity {
    rates: AnyRates,
    grid: Grid,
    last: i64,
    carry: i128,
}

#[derive(Debug)]
enum AnyRates {
    Constant(Rate),
    Steps(Schedule),
    Markov(Chain),
    Chances { trace: Arc<Trace>, start: Time },
}

impl Capacity {
    pub(crate) fn new(rates: &Rates, grid: Grid, start: Time, rng: &mut Rng) -> Capacity {
        let rates = match rates {
            Rates::Constant(params) => AnyRates::Constant(params.rate),
            Rates::Steps(params) if params.steps.iter().all(|s| s.span.as_ns() <= 0) => {
                AnyRates::Constant(Rate::ZERO)
            }
            Rates::Steps(params) => AnyRates::Steps(Schedule::new(&params.steps, start)),
            Rates::Markov(params) if params.states.is_empty() => AnyRates::Constant(Rate::ZERO),
            Rates::Markov(params) => {
                AnyRates::Markov(Chain::new(params.states.clone(), start, rng.fork()))
            }
            Rates::Chances(params) => AnyRates::Chances {
                trace: Arc::clone(&params.trace),
                start,
            },
        };
        Capacity {
            rates,
            grid,
            last: -1,
            carry: 0,
        }
    }

    /// Bytes of a TTI. Asked in order, once each; what is not asked for is lost.
    pub(crate) fn bytes(&mut self, tti: i64) -> u64 {
        let (from, until) = (self.grid.time(tti), self.grid.time(tti + 1));
        if tti != self.last + 1 {
            self.carry = 0;
        }
        self.last = tti;
        let work = self.carry
            + match &mut self.rates {
                AnyRates::Constant(rate) => work::done(*rate, until - from),
                AnyRates::Steps(schedule) => schedule.work(from, until),
                AnyRates::Markov(chain) => chain.work(from, until),
                AnyRates::Chances { trace, start } => {
                    let count = trace.until(until - *start) - trace.until(from - *start);
                    count * i128::from(CHANCE_BYTES) * PER_BYTE
                }
            };
        self.carry = work % PER_BYTE;
        u64::try_from(work / PER_BYTE).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::steps::Step;
    use unbloat_units::Delta;

    #[test]
    fn the_bytes_of_consecutive_ttis_are_the_integral_of_the_rate() {
        let step = |us, bps| Step {
            span: Delta::us(us),
            rate: Rate::bps(bps),
        };
        let list = [step(700, 9_999_999), step(2_500, 3_333_333), step(450, 0)];
        let rates = Rates::Steps(steps::Params {
            steps: list.to_vec().into(),
        });
        let start = Time::from_ns(5);
        let mut capacity = Capacity::new(&rates, Grid::new(start), start, &mut Rng::with_seed(0));
        // 3,650 us a cycle: 73 TTIs hold 20 of them.
        let sum: u64 = (0..73).map(|tti| capacity.bytes(tti)).sum();
        let work = 20 * (700_000 * 9_999_999i128 + 2_500_000 * 3_333_333);
        assert_eq!(i128::from(sum), work / PER_BYTE);
    }

    #[test]
    fn chances_of_a_trace_are_bytes_of_the_block_at_whose_end_they_are() {
        let trace = Arc::new(crate::trace::parse_mahimahi(b"0\n1\n1\n4\n").unwrap());
        let rates = Rates::Chances(chances::Params { trace });
        let start = Time::from_ns(0);
        let mut capacity = Capacity::new(&rates, Grid::new(start), start, &mut Rng::with_seed(0));
        // Chances are at 1, 1, 4, 4 (0 of the next pass), 5, 5, 8, 8; that at 0 is over when the first block begins.
        let chances = [2, 0, 0, 2, 2, 0, 0, 2];
        let bytes = [0, 1, 2, 3, 4, 5, 6, 7].map(|tti| capacity.bytes(tti));
        assert_eq!(bytes, chances.map(|count| count * 1_500));
    }

    #[test]
    fn a_constant_rate_carries_its_fraction_on_and_loses_it_in_a_pause() {
        // 1,250.5 bytes each.
        let rates = Rates::Constant(constant::Params {
            rate: Rate::bps(10_004_000),
        });
        let start = Time::from_ns(0);
        let mut capacity = Capacity::new(&rates, Grid::new(start), start, &mut Rng::with_seed(0));
        let bytes = [0, 1, 2, 4, 5].map(|tti| capacity.bytes(tti));
        assert_eq!(bytes, [1_250, 1_251, 1_250, 1_250, 1_251]);
    }
}
