//! M/D/1/K: Poisson arrivals, packets of one size, K places; and its limit M/D/1.
//!
//! # References
//! Kleinrock (1975) section 5 (chain at departures); Brun, Garcia (2000) for K places. The paper has
//! exponential transmission times only; a bulk transfer's packets are all of one size.
//!
//! # How it stays exact
//! The chain of what departures leave behind is solved by equating the flows up and down across
//! each boundary, which are sums of positive terms (what GTH elimination comes to here). The closed
//! forms in the literature alternate in sign and lose all digits at a few tens of packets.

use crate::growing::Growing;
use crate::model::Model;
use crate::{Capacity, Load, ModelError, poisson};

/// M/D/1/K. Solved in time K times about 50.
#[derive(Clone, Debug, PartialEq)]
pub struct Md1k {
    load: f64,
    /// Number of packets at the start of a transmission: the probability of 1, 2, ...
    at_start: Vec<f64>,
    /// Time averages: probability of more than 0, 1, ... packets, all states with a free place.
    above: Vec<f64>,
    /// rho plus the probability that a departure leaves nothing behind.
    norm: f64,
    loss: f64,
    mean_number: f64,
}

impl Md1k {
    pub fn new(load: Load, capacity: Capacity) -> Md1k {
        let (rho, k) = (load.get(), capacity.index());
        let tails = poisson::upper_tails(rho);
        let left = left_behind(rho, k, &tails);
        let norm = rho + left[0];
        let mut at_start = left[1..].to_vec();
        match at_start.first_mut() {
            Some(one) => *one += left[0],
            None => at_start.push(left[0]),
        }
        let loss = full(&at_start, k, &tails) / norm;
        let mut above = vec![0.0; k];
        for n in (1..k).rev() {
            above[n - 1] = above[n] + left[n] / norm;
        }
        let mean_number = above.iter().sum::<f64>() + k as f64 * loss;
        Md1k {
            load: rho,
            at_start,
            above,
            norm,
            loss,
            mean_number,
        }
    }
}

/// Probabilities that a departure leaves 0, 1, ..., K - 1 packets behind.
///
/// Across the boundary between j and j + 1 goes down who leaves j + 1 - 1 behind without arrivals
/// (probability a_0), and up who has enough arrivals:
/// `left[j+1] a_0 = left[0] P(A > j) + sum over i = 1..j of left[i] P(A > j - i + 1)`.
fn left_behind(rho: f64, k: usize, tails: &[f64]) -> Vec<f64> {
    let none = (-rho).exp();
    let mut left = Growing::from_one(k);
    for j in 0..k - 1 {
        let before = left.values();
        let from_empty = before[0] * tails.get(j).copied().unwrap_or(0.0);
        let reach = j.min(tails.len() - 1);
        let nearest = before[j + 1 - reach..].iter().rev();
        let up: f64 = nearest.zip(&tails[1..]).map(|(p, tail)| p * tail).sum();
        left.push((from_empty + up) / none);
    }
    let mut left = left.into_values();
    let sum: f64 = left.iter().sum();
    left.iter_mut().for_each(|p| *p /= sum);
    left
}

/// Time with all K places taken, in each transmission on average: with j packets at its start, the
/// time after the (K - j)-th arrival, whose mean is `E[(A - (K - j))+] / rho`; times rho.
fn full(at_start: &[f64], k: usize, tails: &[f64]) -> f64 {
    let mut beyond = 0.0;
    let mut sum = 0.0;
    for m in (0..tails.len()).rev() {
        beyond += tails[m];
        if m < k && k - m <= at_start.len() {
            sum += at_start[k - m - 1] * beyond;
        }
    }
    sum
}

impl Model for Md1k {
    fn loss(&self) -> f64 {
        self.loss
    }

    fn utilisation(&self) -> f64 {
        self.load / self.norm
    }

    fn mean_number(&self) -> f64 {
        self.mean_number
    }

    /// Who finds n packets, the first of them sent for u of its time, waits n - u. So for a wait
    /// above `time` there are either more than n = floor(time) + 1, or n and u < n - time; then
    /// `n - j` arrivals came within u if the transmission began with j.
    fn wait_above(&self, time: f64) -> f64 {
        let number = time.floor() as usize + 1;
        let Some(&more) = self.above.get(number) else {
            return 0.0;
        };
        let tails = poisson::upper_tails(self.load * (number as f64 - time));
        let began = self.at_start[..number].iter().rev();
        let these: f64 = began.zip(&tails).map(|(p, tail)| p * tail).sum();
        (more + these / self.norm) / (1.0 - self.loss)
    }

    fn delay_above(&self, time: f64) -> f64 {
        if time < 1.0 {
            1.0
        } else {
            self.wait_above(time - 1.0)
        }
    }
}

/// M/D/1: no limit on the buffer, load below 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Md1 {
    load: f64,
    /// So many places that none of 1e19 packets is lost; the distribution is taken from here.
    large: Md1k,
}

impl Md1 {
    pub fn new(load: Load) -> Result<Md1, ModelError> {
        let rho = load.below_one()?;
        // Probabilities fall by at least exp(-2 (1 - rho)) with each packet.
        let places = 10.0 + 45.0 / (2.0 * (1.0 - rho));
        let places = Capacity::new(places as u64).or(Capacity::new(Capacity::MOST.into()))?;
        Ok(Md1 {
            load: rho,
            large: Md1k::new(load, places),
        })
    }
}

impl Model for Md1 {
    fn loss(&self) -> f64 {
        0.0
    }

    fn utilisation(&self) -> f64 {
        self.load
    }

    /// Pollaczek and Khinchine: `rho + rho^2 / (2 (1 - rho))`.
    fn mean_number(&self) -> f64 {
        self.load + self.load * self.load / (2.0 * (1.0 - self.load))
    }

    fn wait_above(&self, time: f64) -> f64 {
        self.large.wait_above(time)
    }

    fn delay_above(&self, time: f64) -> f64 {
        self.large.delay_above(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Arrivals, Service, assert_close, capacity, load, simulate};

    fn model(rho: f64, k: u64) -> Md1k {
        Md1k::new(load(rho), capacity(k))
    }

    /// Brun and Garcia (2000): `b_n = sum of (-1)^i (n-i)^i e^((n-i) rho) rho^i / i!`,
    /// `P_0 = 1/(1 + rho b_(K-1))`, `P_K = 1 - b_(K-1)/(1 + rho b_(K-1))`.
    fn brun_garcia(rho: f64, k: u32) -> (f64, f64) {
        let n = f64::from(k) - 1.0;
        let (mut sum, mut factorial) = (0.0, 1.0);
        for i in 0..k {
            let step = f64::from(i);
            factorial *= step.max(1.0);
            let power = (n - step).powi(i as i32) * (-rho).powi(i as i32);
            sum += power * ((n - step) * rho).exp() / factorial;
        }
        (1.0 / (1.0 + rho * sum), 1.0 - sum / (1.0 + rho * sum))
    }

    #[test]
    fn empty_and_full_are_as_in_brun_and_garcia() {
        for rho in [0.3, 0.8, 1.0, 1.5] {
            for k in 1..=12 {
                let (empty, full) = brun_garcia(rho, k);
                let queue = model(rho, k.into());
                assert_close(1.0 - queue.utilisation(), empty, 1e-9);
                assert!((queue.loss() - full).abs() < 1e-11, "{rho} {k}");
            }
        }
    }

    /// The same closed form with thousands of digits: `tests/reference.py md1k`.
    #[test]
    fn in_large_chains_all_digits_stay() {
        for (rho, k, loss, utilisation) in [
            (0.5, 100, 3.152953974817959e-55, 0.5),
            (0.95, 200, 7.81194510731201e-11, 0.9499999999257864),
            (0.99, 2000, 3.764748191410818e-20, 0.99),
            (1.0, 1000, 0.0005000833472245374, 0.9994999166527755),
            (1.2, 2000, 0.16666666666666663, 1.0),
        ] {
            let queue = model(rho, k);
            assert_close(queue.loss(), loss, 2e-12);
            assert_close(queue.utilisation(), utilisation, 2e-12);
        }
    }

    #[test]
    fn probabilities_sum_to_one_and_flows_balance() {
        for (rho, k) in [(0.5, 1), (0.99, 2), (0.95, 100), (1.2, 10_000), (60.0, 50)] {
            let queue = model(rho, k);
            let empty = 1.0 - queue.utilisation();
            let sum = empty + queue.above.first().copied().unwrap_or(0.0) + queue.loss();
            assert!((sum - 1.0).abs() < 1e-12, "{rho} {k}: {sum}");
            let carried = rho * (1.0 - queue.loss());
            assert_close(carried, queue.utilisation(), 1e-12);
        }
    }

    #[test]
    fn small_losses_keep_their_digits() {
        // Beyond a few places each further one divides the loss by the root of y = e^(rho (y-1)).
        let mut root: f64 = 3.0;
        for _ in 0..200 {
            root -= (root - (0.5 * (root - 1.0)).exp()) / (1.0 - 0.5 * (0.5 * (root - 1.0)).exp());
        }
        let (at, next) = (model(0.5, 100).loss(), model(0.5, 101).loss());
        assert!(next > 0.0 && at < 1e-50);
        assert_close(at / next, root, 1e-12);
    }

    /// Erlang (1909): `P(W <= t) = (1 - rho) sum over i <= t of (rho (i - t))^i / i! e^(rho (t - i))`.
    fn erlang(rho: f64, time: f64) -> f64 {
        let (mut sum, mut factorial) = (0.0, 1.0);
        for i in 0..=time.floor() as i32 {
            let step = f64::from(i);
            factorial *= step.max(1.0);
            sum += (rho * (step - time)).powi(i) / factorial * (rho * (time - step)).exp();
        }
        (1.0 - rho) * sum
    }

    #[test]
    fn the_wait_is_distributed_as_erlang_found() {
        for rho in [0.3, 0.7, 0.95] {
            let queue = Md1::new(load(rho)).expect("below one");
            for time in [0.0, 0.4, 1.0, 2.7, 5.5, 9.1] {
                let above = queue.wait_above(time);
                assert!(
                    (above - (1.0 - erlang(rho, time))).abs() < 1e-10,
                    "{rho} {time}"
                );
            }
        }
    }

    #[test]
    fn the_mean_is_that_of_the_distribution() {
        for (rho, k) in [(0.8, 7), (1.1, 4), (0.95, 30)] {
            let queue = model(rho, k);
            // Simpson's rule; the share above is smooth between whole numbers.
            let mut area = 0.0;
            for cell in 0..20 * k {
                let at = |half: u64| queue.wait_above((cell as f64 + half as f64 / 2.0) / 20.0);
                let last = if cell % 20 == 19 {
                    queue.wait_above((cell as f64 + 1.0 - 1e-9) / 20.0)
                } else {
                    at(2)
                };
                area += (at(0) + 4.0 * at(1) + last) / 120.0;
            }
            assert!((area - queue.mean_wait()).abs() < 1e-6, "{rho} {k}: {area}");
        }
    }

    #[test]
    fn it_grows_with_k_towards_md1() {
        for rho in [0.5, 0.95, 0.99] {
            let limit = Md1::new(load(rho)).expect("below one");
            let mut before = model(rho, 1);
            for k in [2, 3, 10, 100, 1_000, 5_000] {
                let queue = model(rho, k);
                assert!(queue.loss() <= before.loss());
                assert!(queue.mean_delay() >= before.mean_delay() * (1.0 - 1e-13));
                before = queue;
            }
            assert_close(before.mean_delay(), limit.mean_delay(), 1e-10);
            assert_close(
                before.delay_quantile(0.99),
                limit.delay_quantile(0.99),
                1e-10,
            );
        }
    }

    #[test]
    fn a_simulation_agrees() {
        for (rho, k) in [(0.5, 2), (0.95, 20), (1.2, 10)] {
            let queue = model(rho, k);
            simulate(Arrivals::poisson(rho), Service::Fixed, k as usize).agrees_with(&queue);
        }
    }
}
