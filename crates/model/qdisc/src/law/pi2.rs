//! PI2: a proportional-integral controller of a base probability, whose square is the classic one.
//!
//! # References
//!
//! - De Schepper et al., "PI2: A Linearized AQM for both Classic and Scalable TCP", CoNEXT 2016.
//! - RFC 9332 section 2.4 and appendix A.
//! - Linux 6.17 `net/sched/sch_dualpi2.c`.
//!
//! # Where we differ
//!
//! 1. Linux lets a step wider than the whole range wrap; here it saturates.

use fastrand::Rng;
use unbloat_params::params;
use unbloat_params::range::{SPAN, WEIGHT};
use unbloat_units::Delta;

params! {
    /// What an operator sets.
    ///
    /// As in Linux: 0.16 Hz and 3.2 Hz, stable up to an RTT of 100 ms (RFC 9332 appendix A: 0.15 and 3).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params: Settings {
        pub target: Delta = Delta::ms(15) => within(SPAN);
        /// Weight of the deviation from the target, in 1/256 Hz.
        pub alpha: u32 = 41 => within(WEIGHT);
        /// Weight of the trend, in 1/256 Hz.
        pub beta: u32 = 819 => within(WEIGHT);
    }
}

/// The parameters as the law works with them: gains per 64 ns, probabilities in units of 2^-32.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    target: i64,
    alpha: i64,
    beta: i64,
}

/// A probability in units of 2^-32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prob(pub u32);

impl Prob {
    /// Draws once.
    #[inline]
    pub fn hits(self, rng: &mut Rng) -> bool {
        rng.u32(..) <= self.0
    }

    /// Draws twice: true with the square of the probability.
    #[inline]
    pub fn hits_squared(self, rng: &mut Rng) -> bool {
        self.hits(rng) && self.hits(rng)
    }

    /// `k` times as much; none if that is more than one.
    pub fn times(self, k: u32) -> Option<Prob> {
        self.0.checked_mul(k).map(Prob)
    }

    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(u32::MAX)
    }
}

/// What the controller remembers.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    base: Prob,
    last_delay: i64,
}

const GAIN_SHIFT: u32 = 6;

impl Law {
    pub fn new(params: &Params) -> Law {
        let gain = |per_256_hz: u32| {
            let per_tick = (u64::from(per_256_hz) * u64::from(u32::MAX)) >> (8 - GAIN_SHIFT);
            (per_tick / 1_000_000_000) as i64
        };
        Law {
            target: params.target.as_ns(),
            alpha: gain(params.alpha),
            beta: gain(params.beta),
        }
    }
}

impl State {
    pub fn base(&self) -> Prob {
        self.base
    }

    /// One update, with the delay of the moment; the base probability stays at most `most`.
    pub fn update(&mut self, law: &Law, delay: Delta, most: Prob) {
        let delay = delay.as_ns();
        let change = (delay - law.target)
            .saturating_mul(law.alpha)
            .saturating_add((delay - self.last_delay).saturating_mul(law.beta));
        self.last_delay = delay;
        let next = i64::from(self.base.0) + change / (1 << GAIN_SHIFT);
        self.base = Prob(next.clamp(0, i64::from(most.0)) as u32);
    }

    /// Whether updates with no delay change anything still.
    pub fn is_at_rest(&self) -> bool {
        self.base.0 == 0 && self.last_delay == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Prob = Prob(u32::MAX);

    #[test]
    fn the_base_probability_rises_by_the_gains_and_falls_to_zero() {
        let law = Law::new(&Params::default());
        let mut state = State::default();
        // 5 ms above the target and 20 ms more than before: 0.16 * 0.005 + 3.2 * 0.020 = 0.0648.
        state.update(&law, Delta::ms(20), ONE);
        assert!((state.base().as_f64() - 0.0648).abs() < 0.0012, "{state:?}");
        let after_rise = state.base().as_f64();
        state.update(&law, Delta::ms(20), ONE);
        assert!((state.base().as_f64() - after_rise - 0.0008).abs() < 2e-5);
        for _ in 0..100 {
            state.update(&law, Delta::ZERO, ONE);
        }
        assert!(state.is_at_rest());
    }

    #[test]
    fn the_integer_gains_are_those_of_linux() {
        let law = Law::new(&Params::default());
        // 41 * (2^32 - 1) / 4 / 10^9 and 819 * (2^32 - 1) / 4 / 10^9, rounded down.
        assert_eq!((law.alpha, law.beta), (44, 879));
    }

    #[test]
    fn the_classic_probability_is_the_square_and_the_coupled_one_a_multiple() {
        let mut rng = Rng::with_seed(5);
        let quarter = Prob(u32::MAX / 4);
        let hits = (0..100_000)
            .filter(|_| quarter.hits_squared(&mut rng))
            .count();
        assert!(
            (hits as f64 / 100_000.0 - 1.0 / 16.0).abs() < 0.003,
            "{hits}"
        );
        assert_eq!(
            quarter.times(2).map(|p| (p.as_f64() * 100.0).round()),
            Some(50.0)
        );
        assert_eq!(Prob(u32::MAX / 2 + 1).times(2), None);
    }
}
