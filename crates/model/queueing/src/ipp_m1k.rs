//! IPP/M/1/K: an interrupted Poisson source, exponential transmission times, K places, solved
//! exactly; and its limit IPP/M/1 in closed form.
//!
//! # References
//! Grassmann, Taksar, Heyman (1985) for the elimination; Kleinrock (1975) section 6.4 (G/M/1) and
//! Kuczura (1973) for the limit.
//!
//! # How it stays exact
//! States are (packets, on or off). They are eliminated from the fullest down; what is left of level
//! n is a chain of two states whose rate from on to off has grown by the ways through fuller levels.
//! The 2 x 2 blocks reduce to one number for each level, and every step adds, multiplies and divides
//! positive numbers: nothing cancels, and the relative error of a probability is at most that of some
//! K roundings, at every load.

use crate::growing::Growing;
use crate::model::Model;
use crate::{Capacity, Ipp, ModelError, poisson};

/// IPP/M/1/K. Solved in time proportional to K.
#[derive(Clone, Debug, PartialEq)]
pub struct IppM1k {
    /// Probability of n packets, the source on.
    on: Vec<f64>,
    /// Probability of n packets.
    number: Vec<f64>,
    /// Probability that an accepted packet finds at least n.
    found_at_least: Vec<f64>,
}

impl IppM1k {
    pub fn new(source: Ipp, capacity: Capacity) -> IppM1k {
        let leaving = rates_to_off(source, capacity.index());
        let on = relative(source, &leaving);
        let off_for_on = |(n, p): (usize, &f64)| {
            let back = source.to_on() + if n > 0 { 1.0 } else { 0.0 };
            p * leaving[n] / back
        };
        let off: Vec<f64> = on.iter().enumerate().map(off_for_on).collect();
        let sum: f64 = on.iter().chain(&off).sum();
        let on: Vec<f64> = on.iter().map(|p| p / sum).collect();
        let number: Vec<f64> = on.iter().zip(&off).map(|(p, q)| p + q / sum).collect();
        let found_at_least = suffix_sums(&on[..capacity.index()]);
        IppM1k {
            on,
            number,
            found_at_least,
        }
    }

    /// Probability of `number` packets at the bottleneck.
    pub fn probability(&self, number: u32) -> f64 {
        self.number.get(number as usize).copied().unwrap_or(0.0)
    }

    fn found(&self, at_least: usize) -> f64 {
        self.found_at_least.get(at_least).copied().unwrap_or(0.0)
    }
}

/// Rate from on to off within level n, fuller levels eliminated, for n = 0..=K.
///
/// An arrival leads to level n + 1; from there the way back to level n ends with the source off
/// with probability `b / (mu + beta + b)`, b the same rate one level higher. At level K arrivals
/// are lost.
fn rates_to_off(source: Ipp, k: usize) -> Vec<f64> {
    let mut rates = vec![source.to_off(); k + 1];
    for n in (0..k).rev() {
        let above = rates[n + 1];
        rates[n] += source.peak() * above / (1.0 + source.to_on() + above);
    }
    rates
}

/// Probabilities of n packets with the source on, up to a common factor: as many go up from level n
/// as come down to it, `peak on[n] = on[n+1] + off[n+1]`.
fn relative(source: Ipp, leaving: &[f64]) -> Vec<f64> {
    let mut on = Growing::from_one(leaving.len());
    for (level, rate) in leaving[1..].iter().enumerate() {
        let step = source.peak() / (1.0 + rate / (1.0 + source.to_on()));
        on.push(on.values()[level] * step);
    }
    on.into_values()
}

/// Sums from each place to the end, over the sum of all.
fn suffix_sums(values: &[f64]) -> Vec<f64> {
    let mut sums = values.to_vec();
    for n in (1..sums.len()).rev() {
        sums[n - 1] += sums[n];
    }
    let all = sums[0];
    sums.iter_mut().for_each(|s| *s /= all);
    sums
}

impl Model for IppM1k {
    /// Arrivals come only while the source is on, and find what is there then.
    fn loss(&self) -> f64 {
        self.on[self.on.len() - 1] / self.on.iter().sum::<f64>()
    }

    fn utilisation(&self) -> f64 {
        self.number[1..].iter().sum()
    }

    fn mean_number(&self) -> f64 {
        let weighted = self.number.iter().enumerate();
        weighted.map(|(n, p)| n as f64 * p).sum()
    }

    /// One transmission time for each packet found.
    fn mean_wait(&self) -> f64 {
        self.found_at_least[1..].iter().sum()
    }

    fn wait_above(&self, time: f64) -> f64 {
        poisson::expectation(time, |stages| self.found(stages + 1))
    }

    fn delay_above(&self, time: f64) -> f64 {
        poisson::expectation(time, |stages| self.found(stages))
    }
}

/// IPP/M/1: no limit on the buffer, mean load below 1. The delay is exponential.
///
/// As in every G/M/1 queue an arrival finds n with probability `(1 - sigma) sigma^n`, sigma the root
/// of `sigma = A*(1 - sigma)`. With the transform A* of Kuczura's intervals, `s = 1 - sigma` solves
/// `s^2 + (peak + alpha + beta - 1) s - (alpha + beta - peak beta) = 0`, alpha the rate to off and
/// beta the rate to on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IppM1 {
    load: f64,
    /// 1 over the mean delay.
    s: f64,
}

impl IppM1 {
    pub fn new(source: Ipp) -> Result<IppM1, ModelError> {
        let load = source.mean();
        if load >= 1.0 {
            return Err(ModelError::Unstable(load));
        }
        let (alpha, beta) = (source.to_off(), source.to_on());
        let half = (source.peak() + alpha + beta - 1.0) / 2.0;
        // alpha + beta - peak beta, without its cancellation close to load 1.
        let free = (alpha + beta) * (1.0 - load);
        let root = (half * half + free).sqrt();
        // The positive root, by whichever of its two forms does not subtract.
        let s = if half > 0.0 {
            free / (half + root)
        } else {
            root - half
        };
        Ok(IppM1 { load, s })
    }
}

impl Model for IppM1 {
    fn loss(&self) -> f64 {
        0.0
    }

    fn utilisation(&self) -> f64 {
        self.load
    }

    fn mean_number(&self) -> f64 {
        self.load / self.s
    }

    fn wait_above(&self, time: f64) -> f64 {
        (1.0 - self.s) * self.delay_above(time)
    }

    fn delay_above(&self, time: f64) -> f64 {
        (-self.s * time).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Arrivals, Service, assert_close, capacity, ipp_balance, load, simulate};
    use crate::{Mm1, Mm1k};

    fn source(rho: f64, on: f64, off: f64) -> Ipp {
        Ipp::new(load(rho), on, off).expect("a source")
    }

    #[test]
    fn probabilities_solve_the_balance_equations() {
        for (rho, on, off) in [
            (0.5, 3.0, 7.0),
            (0.95, 20.0, 5.0),
            (1.2, 0.1, 0.3),
            (0.3, 500.0, 80.0),
        ] {
            for k in [1, 2, 7, 30] {
                let source = source(rho, on, off);
                let chain = IppM1k::new(source, capacity(k));
                let (on_solved, off_solved) = ipp_balance(source, k as usize);
                for n in 0..=k as usize {
                    assert!((chain.on[n] - on_solved[n]).abs() < 1e-13);
                    assert!((chain.number[n] - on_solved[n] - off_solved[n]).abs() < 1e-13);
                }
            }
        }
    }

    /// The balance equations solved one after the other with up to 20,000 digits:
    /// `tests/reference.py ipp`.
    #[test]
    fn in_large_chains_all_digits_stay() {
        for (rho, on, off, k, loss, number, p0) in IPP_REFERENCE {
            let chain = IppM1k::new(source(rho, on, off), capacity(k));
            assert_close(chain.loss(), loss, 2e-12);
            assert_close(chain.mean_number(), number, 2e-12);
            assert_close(chain.probability(0), p0, 2e-12);
        }
    }

    const IPP_REFERENCE: [(f64, f64, f64, u64, f64, f64, f64); 5] = [
        (
            0.5,
            10.0,
            10.0,
            100,
            1.2783269346599427e-12,
            2.158312395043678,
            0.5000000000006392,
        ),
        (
            0.95,
            30.0,
            70.0,
            1000,
            0.024442193587387993,
            388.37917932452467,
            0.07322008390801864,
        ),
        (
            0.99,
            5.0,
            20.0,
            10000,
            2.59809539314847e-05,
            1637.6616427146707,
            0.010025721144392178,
        ),
        (
            1.2,
            200.0,
            300.0,
            5000,
            0.16866373923852077,
            3979.230673755869,
            0.0023964870862249418,
        ),
        (
            0.8,
            1_000.0,
            4_000.0,
            300,
            0.6812041576346716,
            65.40981966748501,
            0.7449633261077372,
        ),
    ];

    #[test]
    fn probabilities_sum_to_one_and_flows_balance() {
        for rho in [0.5, 0.95, 0.99, 1.0, 1.2] {
            for k in [1, 10, 1_000, 10_000] {
                let chain = IppM1k::new(source(rho, 200.0, 300.0), capacity(k));
                let sum: f64 = chain.number.iter().sum();
                assert!((sum - 1.0).abs() < 1e-12);
                assert!(chain.number.iter().all(|p| *p >= 0.0 && p.is_finite()));
                let on: f64 = chain.on.iter().sum();
                assert_close(on, 0.4, 1e-11);
                assert_close(1.0 + chain.mean_wait(), chain.mean_delay(), 1e-11);
                assert_close(rho * (1.0 - chain.loss()), chain.utilisation(), 1e-11);
            }
        }
    }

    #[test]
    fn a_source_that_is_never_off_is_poisson() {
        for (rho, k) in [(0.5, 3), (0.99, 400), (1.0, 50), (1.2, 10_000)] {
            let chain = IppM1k::new(source(rho, 5.0, 0.0), capacity(k));
            let poisson = Mm1k::new(load(rho), capacity(k));
            assert!((chain.loss() - poisson.loss()).abs() < 1e-12);
            assert_close(chain.mean_number(), poisson.mean_number(), 1e-11);
            assert_close(
                chain.delay_quantile(0.95),
                poisson.delay_quantile(0.95),
                1e-10,
            );
        }
        let limit = IppM1::new(source(0.9, 5.0, 0.0)).expect("below one");
        let poisson = Mm1::new(load(0.9)).expect("below one");
        assert_close(limit.mean_delay(), poisson.mean_delay(), 1e-13);
    }

    #[test]
    fn switching_ever_faster_comes_to_poisson() {
        let poisson = Mm1k::new(load(0.9), capacity(30)).mean_delay();
        let mut distance = f64::INFINITY;
        for time in [100.0, 10.0, 1.0, 0.1, 0.01, 1e-5] {
            let chain = IppM1k::new(source(0.9, time, time), capacity(30));
            let off_by = (chain.mean_delay() - poisson).abs();
            assert!(off_by < distance, "{time}");
            distance = off_by;
        }
        assert!(distance < 1e-3 * poisson);
    }

    #[test]
    fn it_grows_with_k_towards_the_closed_form() {
        let source = source(0.8, 40.0, 60.0);
        let limit = IppM1::new(source).expect("below one");
        let mut before = IppM1k::new(source, capacity(1));
        for k in [2, 3, 10, 100, 1_000, 4_000] {
            let chain = IppM1k::new(source, capacity(k));
            assert!(chain.loss() < before.loss());
            assert!(chain.utilisation() >= before.utilisation() * (1.0 - 1e-13));
            assert!(chain.mean_delay() >= before.mean_delay() * (1.0 - 1e-13));
            before = chain;
        }
        assert_close(before.mean_delay(), limit.mean_delay(), 1e-10);
        assert_close(
            before.delay_quantile(0.99),
            limit.delay_quantile(0.99),
            1e-9,
        );
        assert_close(before.wait_quantile(0.5), limit.wait_quantile(0.5), 1e-9);
    }

    /// Kuczura (1973): the intervals of an IPP are hyperexponential with two stages; sigma then is
    /// the fixed point of their transform.
    #[test]
    fn the_limit_is_the_root_for_kuczuras_intervals() {
        for (rho, on, off) in [(0.5, 10.0, 10.0), (0.95, 3.0, 50.0), (0.1, 0.5, 0.5)] {
            let source = source(rho, on, off);
            let (rate, gone, back) = (source.peak(), source.to_off(), source.to_on());
            let sum = rate + gone + back;
            let root = (sum * sum - 4.0 * rate * back).sqrt();
            let (fast, slow) = ((sum + root) / 2.0, (sum - root) / 2.0);
            let share = (rate - slow) / (fast - slow);
            let transform = |s: f64| share * fast / (fast + s) + (1.0 - share) * slow / (slow + s);
            let mut sigma = 0.5;
            for _ in 0..20_000 {
                sigma = transform(1.0 - sigma);
            }
            let limit = IppM1::new(source).expect("below one");
            assert_close(1.0 - limit.s, sigma, 1e-11);
        }
    }

    #[test]
    fn bursts_cost_what_the_documentation_of_the_source_says() {
        for (span, delay) in [(10.0, 4.3), (100.0, 11.0)] {
            let limit = IppM1::new(source(0.5, span, span)).expect("below one");
            assert!(
                (limit.mean_delay() - delay).abs() < 0.06,
                "{}",
                limit.mean_delay()
            );
        }
    }

    #[test]
    fn a_simulation_agrees() {
        for (rho, on, off, k) in [
            (0.5, 10.0, 10.0, 8),
            (0.9, 20.0, 5.0, 30),
            (1.2, 4.0, 12.0, 10),
        ] {
            let source = source(rho, on, off);
            let chain = IppM1k::new(source, capacity(k));
            simulate(Arrivals::on_off(source), Service::Exponential, k as usize)
                .agrees_with(&chain);
        }
    }
}
