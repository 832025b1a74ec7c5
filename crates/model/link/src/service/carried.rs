//! What a link can carry in a span of its future or past, where that is settled beforehand.

use super::chances::CHANCE_BYTES;
use super::profile::Profile;
use super::steps::Schedule;
use super::{AnyService, Config, work};
use unbloat_units::{Bytes, Time};

impl Config {
    /// How much a server that began at `start` can send from one point to a later one; none if that is a matter of chance or of what it sent
    /// before.
    pub fn carried(&self, start: Time, from: Time, until: Time) -> Option<Bytes> {
        let from = from.max(start);
        let until = until.max(from);
        let bytes = match self {
            Config::Constant(params) => work::done(params.rate, until - from) / work::PER_BYTE,
            Config::Steps(params) => {
                let mut schedule = Schedule::new(&params.steps, start);
                schedule.work(from, until) / work::PER_BYTE
            }
            Config::Chances(params) => {
                let count = params.trace.until(until - start) - params.trace.until(from - start);
                count * i128::from(CHANCE_BYTES)
            }
            Config::Bucket(_) | Config::Markov(_) => return None,
        };
        u64::try_from(bytes).ok().map(Bytes::new)
    }
}

impl AnyService {
    /// The same of a server whose rate changes at random, before it has sent anything.
    pub(crate) fn carried(&self, from: Time, until: Time) -> Option<Bytes> {
        let AnyService::Markov(markov) = self else {
            return None;
        };
        let bytes = markov.carried(from, until.max(from)) / work::PER_BYTE;
        u64::try_from(bytes).ok().map(Bytes::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{chances, constant, steps};
    use crate::testing::at_us;
    use crate::trace::parse_mahimahi;
    use std::sync::Arc;
    use unbloat_units::{Delta, Rate};

    fn carried(config: &Config, from_us: i64, until_us: i64) -> u64 {
        let bytes = config.carried(at_us(0), at_us(from_us), at_us(until_us));
        bytes.expect("settled").as_u64()
    }

    #[test]
    fn it_is_the_integral_of_the_rate_and_nothing_before_the_start() {
        let rate = Rate::mbps(8);
        let still = Config::Constant(constant::Params { rate });
        assert_eq!(carried(&still, 500, 1_500), 1_000);
        assert_eq!(carried(&still, -500, 500), 500);
        assert_eq!(carried(&still, 900, 400), 0);
        let steps = [rate, Rate::ZERO].into_iter().map(|now| steps::Step {
            span: Delta::ms(1),
            rate: now,
        });
        let steps = steps.collect();
        let halting = Config::Steps(steps::Params { steps });
        assert_eq!(carried(&halting, 500, 2_250), 750);
    }

    #[test]
    fn chances_are_counted_over_the_end_of_the_trace() {
        let trace = Arc::new(parse_mahimahi(b"1\n1\n4\n").unwrap());
        let chances = Config::Chances(chances::Params { trace });
        assert_eq!(carried(&chances, 0, 1_000), 3_000);
        assert_eq!(carried(&chances, 1_000, 4_000), 1_500);
        assert_eq!(carried(&chances, 1_000, 5_000), 4_500);
    }
}
