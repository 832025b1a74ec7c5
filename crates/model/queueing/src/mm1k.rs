//! M/M/1/K: Poisson arrivals, exponential transmission times, K places; and its limit M/M/1.
//!
//! # References
//! Kleinrock (1975) sections 3.2 and 3.6; the paper's Eq. 3 and 5.
//!
//! # How it stays exact
//! With r = min(rho, 1/rho) every power is at most 1: nothing overflows, whatever K is. (A queue
//! with load 1/rho is the same queue with packets and free places exchanged.) Differences
//! `1 - r^n` are taken as `-expm1(n ln r)`, and where the two terms of Eq. 3 nearly cancel (load
//! close to 1) their common part is taken out by hand: see [`mean_at_low_load`].

use crate::model::Model;
use crate::{Capacity, Load, ModelError, poisson};

/// M/M/1/K. All results in constant time, but shares above a time in the square root of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mm1k {
    load: f64,
    capacity: u32,
    /// -ln r.
    x: f64,
}

impl Mm1k {
    pub fn new(load: Load, capacity: Capacity) -> Mm1k {
        let rho = load.get();
        let shortfall = if rho > 1.0 {
            (rho - 1.0) / rho
        } else {
            1.0 - rho
        };
        Mm1k {
            load: rho,
            capacity: capacity.get(),
            x: -(-shortfall).ln_1p(),
        }
    }

    /// Probability of `number` packets at the bottleneck: `rho^n (1 - rho) / (1 - rho^(K+1))`.
    pub fn probability(&self, number: u32) -> f64 {
        if number > self.capacity {
            return 0.0;
        }
        let from_likeliest = if self.load > 1.0 {
            self.capacity - number
        } else {
            number
        };
        let places = f64::from(self.capacity) + 1.0;
        self.ratio(1.0, places) * (-self.x * f64::from(from_likeliest)).exp()
    }

    /// `(1 - r^a) / (1 - r^b)`, at r = 1 its limit a/b.
    fn ratio(&self, a: f64, b: f64) -> f64 {
        if self.x == 0.0 {
            a / b
        } else {
            (-a * self.x).exp_m1() / (-b * self.x).exp_m1()
        }
    }

    /// Probability that an accepted packet finds at least `number` before it:
    /// `(rho^n - rho^K) / (1 - rho^K)`.
    fn found_at_least(&self, number: usize) -> f64 {
        let k = f64::from(self.capacity);
        let n = number as f64;
        if n >= k {
            return 0.0;
        }
        let rest = self.ratio(k - n, k);
        if self.load > 1.0 {
            rest
        } else {
            rest * (-self.x * n).exp()
        }
    }
}

impl Model for Mm1k {
    /// P_K, as Poisson arrivals see time averages.
    fn loss(&self) -> f64 {
        self.probability(self.capacity)
    }

    /// Eq. 5 over mu: `1 - P_0`.
    fn utilisation(&self) -> f64 {
        let k = f64::from(self.capacity);
        self.load.min(1.0) * self.ratio(k, k + 1.0)
    }

    /// Eq. 3.
    fn mean_number(&self) -> f64 {
        let places = f64::from(self.capacity) + 1.0;
        let low = mean_at_low_load(self.x, places);
        if self.load > 1.0 {
            f64::from(self.capacity) - low
        } else {
            low
        }
    }

    /// A packet that is let in finds what is in a queue of one place fewer, and waits for each.
    fn mean_wait(&self) -> f64 {
        let one_fewer = Mm1k {
            capacity: self.capacity - 1,
            ..*self
        };
        one_fewer.mean_number()
    }

    /// Who finds n packets waits for n exponential times.
    fn wait_above(&self, time: f64) -> f64 {
        poisson::expectation(time, |stages| self.found_at_least(stages + 1))
    }

    fn delay_above(&self, time: f64) -> f64 {
        poisson::expectation(time, |stages| self.found_at_least(stages))
    }
}

/// Eq. 3 for r = e^-x <= 1 and m = K + 1: `1/(e^x - 1) - m/(e^(mx) - 1)`.
///
/// For small mx both terms are close to 1/x and cancel; with `1/(e^x - 1) = 1/x - 1/2 + s(x)` it is
/// `(m - 1)/2 + s(x) - m s(mx)`, which at load 1 gives K/2.
fn mean_at_low_load(x: f64, m: f64) -> f64 {
    if m * x < 1.0 {
        (m - 1.0) / 2.0 + smooth_part(x) - m * smooth_part(m * x)
    } else {
        1.0 / x.exp_m1() - m / (m * x).exp_m1()
    }
}

/// `s(x) = sum of B_2k x^(2k-1) / (2k)!` for 0 <= x <= 1 (Abramowitz, Stegun 4.5.67 halved); the
/// next term is below 1e-17.
fn smooth_part(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 9] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30_240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
        1.0 / 74_724_249_600.0,
        -3_617.0 / 10_670_622_842_880_000.0,
        43_867.0 / 5_109_094_217_170_944_000.0,
    ];
    let square = x * x;
    let horner = |sum, coefficient: &f64| sum * square + coefficient;
    x * COEFFICIENTS.iter().rev().fold(0.0, horner)
}

/// M/M/1: no limit on the buffer, load below 1. What M/M/1/K comes to for large K.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mm1 {
    load: f64,
}

impl Mm1 {
    pub fn new(load: Load) -> Result<Mm1, ModelError> {
        Ok(Mm1 {
            load: load.below_one()?,
        })
    }
}

impl Model for Mm1 {
    fn loss(&self) -> f64 {
        0.0
    }

    fn utilisation(&self) -> f64 {
        self.load
    }

    fn mean_number(&self) -> f64 {
        self.load / (1.0 - self.load)
    }

    fn wait_above(&self, time: f64) -> f64 {
        self.load * self.delay_above(time)
    }

    /// Exponential with mean 1/(1 - rho).
    fn delay_above(&self, time: f64) -> f64 {
        (-(1.0 - self.load) * time).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Arrivals, Service, assert_close, birth_death, capacity, load, simulate};

    fn model(rho: f64, k: u64) -> Mm1k {
        Mm1k::new(load(rho), capacity(k))
    }

    #[test]
    fn probabilities_solve_the_balance_equations() {
        for rho in [0.1, 0.5, 0.95, 0.999_999_9, 1.0, 1.2, 7.0] {
            for k in [1, 2, 5, 40] {
                let queue = model(rho, k);
                let solved = birth_death(rho, k as usize);
                for (n, &p) in solved.iter().enumerate() {
                    assert!((queue.probability(n as u32) - p).abs() < 1e-14);
                }
                let mean: f64 = (0..).zip(&solved).map(|(n, p)| f64::from(n) * p).sum();
                assert_close(queue.mean_number(), mean, 1e-12);
                assert_close(queue.utilisation(), 1.0 - solved[0], 1e-12);
                assert!((queue.loss() - solved[k as usize]).abs() < 1e-14);
            }
        }
    }

    /// With 60 digits: `tests/reference.py mm1k`.
    #[test]
    fn close_to_load_one_and_for_large_k_all_digits_stay() {
        for (rho, k, loss, number, utilisation) in MM1K_REFERENCE {
            let queue = model(rho, k);
            assert_close(queue.loss(), loss, 2e-12);
            assert_close(queue.mean_number(), number, 2e-12);
            assert_close(queue.utilisation(), utilisation, 2e-15);
        }
    }

    const MM1K_REFERENCE: [(f64, u64, f64, f64, f64); 9] = [
        (0.5, 10000, 0.0, 1.0, 0.5),
        (
            0.95,
            20,
            0.027181154198737005,
            8.154719474703928,
            0.9241779035111998,
        ),
        (
            0.99,
            200,
            0.0015446833613461642,
            68.26234579257262,
            0.9884707634722673,
        ),
        (0.99, 10000, 2.2487748498162827e-46, 98.99999999999991, 0.99),
        (
            0.999999,
            1000,
            0.0009985015814186903,
            499.916499959642,
            0.9990004994170829,
        ),
        (
            0.9999999999,
            10000,
            9.99899510049037e-05,
            4999.999166499931,
            0.9999000099490051,
        ),
        (
            1.0000000001,
            500,
            0.00199600803393214,
            250.00000209166683,
            0.9980039920658683,
        ),
        (
            1.000001,
            1000000,
            1.5819746645038642e-06,
            581976.8285026525,
            0.9999994180237535,
        ),
        (1.2, 10000, 0.16666666666666663, 9995.0, 1.0),
    ];

    /// cbom.atozmath.com, "M/M/1/N", example 1: 8 and 9 an hour, N = 3; eight decimals of P_0, P_N.
    #[test]
    fn a_worked_example_of_a_textbook_site_comes_out() {
        let queue = model(8.0 / 9.0, 3);
        assert!((queue.probability(0) - 0.295_740_37).abs() < 5e-9);
        assert!((queue.loss() - 0.207_707_91).abs() < 5e-9);
    }

    #[test]
    fn little_s_law_and_what_arrivals_find_give_the_same_wait() {
        for (rho, k) in [(0.3, 1), (0.95, 20), (1.0, 7), (1.2, 500)] {
            let queue = model(rho, k);
            assert!((queue.mean_wait() - (queue.mean_delay() - 1.0)).abs() < 1e-12 * k as f64);
        }
        assert_eq!(model(0.3, 1).mean_wait(), 0.0);
    }

    #[test]
    fn at_load_one_all_states_are_alike() {
        let queue = model(1.0, 999);
        assert_eq!(queue.probability(0), 1e-3);
        assert_eq!(queue.mean_number(), 499.5);
        assert_close(queue.mean_delay(), 500.0, 1e-14);
    }

    #[test]
    fn it_grows_with_k_towards_mm1() {
        for rho in [0.5, 0.95, 0.99] {
            let limit = Mm1::new(load(rho)).expect("below one");
            let mut before = model(rho, 1);
            for k in [2, 3, 10, 100, 1_000, 10_000] {
                let queue = model(rho, k);
                assert!(queue.loss() <= before.loss());
                assert!(queue.utilisation() >= before.utilisation());
                assert!(queue.mean_delay() >= before.mean_delay());
                assert!(queue.delay_quantile(0.95) >= before.delay_quantile(0.95) * (1.0 - 1e-11));
                before = queue;
            }
            assert_close(before.mean_delay(), limit.mean_delay(), 1e-11);
            assert_close(
                before.delay_quantile(0.99),
                limit.delay_quantile(0.99),
                1e-10,
            );
            assert_close(before.wait_quantile(0.9), limit.wait_quantile(0.9), 1e-10);
        }
    }

    #[test]
    fn quantiles_of_mm1_are_logarithms() {
        let queue = Mm1::new(load(0.9)).expect("below one");
        assert_close(queue.delay_quantile(0.95), 10.0 * 20f64.ln(), 1e-11);
        assert_close(queue.wait_quantile(0.95), 10.0 * 18f64.ln(), 1e-11);
        assert_eq!(queue.wait_quantile(0.05), 0.0, "a tenth does not wait");
    }

    #[test]
    fn the_share_above_a_time_is_the_sum_over_erlang_stages() {
        let queue = model(0.8, 3);
        let (time, accepted) = (2.5_f64, 1.0 - queue.loss());
        // Erlang(n + 1) for who finds n: written out.
        let stages = [1.0, 1.0 + time, 1.0 + time + time * time / 2.0];
        let direct: f64 = (0..3)
            .map(|n| queue.probability(n) / accepted * stages[n as usize] * (-time).exp())
            .sum();
        assert_close(queue.delay_above(time), direct, 1e-13);
    }

    #[test]
    fn a_simulation_agrees() {
        for (rho, k) in [(0.5, 3), (0.95, 20), (1.2, 10)] {
            let queue = model(rho, k);
            simulate(Arrivals::poisson(rho), Service::Exponential, k as usize).agrees_with(&queue);
        }
    }
}
