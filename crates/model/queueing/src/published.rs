//! Equations 2 to 5 as the paper prints them.
//!
//! With rho = lambda_eff / mu, in transmission times (divide by mu for seconds):
//!
//! - Eq. 2: `E[D] = E[Q] / lambda_eff`. Little's law asks for the rate of those who enter, so this is
//!   too low by the factor `1 - P_K` exactly ([`delay_error`]): the share lost. Eq. 4 inherits it.
//! - Eq. 3: `E[Q] = rho/(1 - rho) + (K + 1)(1 - 1/(1 - rho^(K+1)))`: exact, the packet being sent
//!   counted.
//! - Eq. 4: Eq. 2 with Eq. 3.
//! - Eq. 5: `E[B] = mu + (lambda_eff - mu)/(1 - rho^(K+1))`: exact, in packets; times their size in
//!   bit/s.
//!
//! All have a hole at load 1, where this module gives the limit, and their printed form loses its
//! digits close to it; the same values are computed here as in [`crate::Mm1k`].

use crate::{Capacity, Load, Mm1k, Model};

/// Eq. 3: packets at the bottleneck.
pub fn mean_number(load: Load, capacity: Capacity) -> f64 {
    Mm1k::new(load, capacity).mean_number()
}

/// Eq. 4: delay at the bottleneck in transmission times.
pub fn mean_delay(load: Load, capacity: Capacity) -> f64 {
    mean_number(load, capacity) / load.get()
}

/// Eq. 5: carried rate over the link's.
pub fn utilisation(load: Load, capacity: Capacity) -> f64 {
    Mm1k::new(load, capacity).utilisation()
}

/// Eq. 4 over the exact mean delay of M/M/1/K, less 1: always -P_K.
pub fn delay_error(load: Load, capacity: Capacity) -> f64 {
    -Mm1k::new(load, capacity).loss()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_close, capacity, load};

    /// The equations as printed, with mu = 1.
    fn printed(rho: f64, k: f64) -> [f64; 3] {
        let lost = 1.0 - 1.0 / (1.0 - rho.powf(k + 1.0));
        let eq3 = rho / (1.0 - rho) + (k + 1.0) * lost;
        let eq4 = 1.0 / (1.0 - rho) + (k + 1.0) / rho * lost;
        let eq5 = 1.0 + (rho - 1.0) / (1.0 - rho.powf(k + 1.0));
        [eq3, eq4, eq5]
    }

    #[test]
    fn away_from_load_one_it_is_what_is_printed() {
        for rho in [0.3, 0.95, 0.99, 1.2] {
            for k in [1, 20, 200] {
                let [eq3, eq4, eq5] = printed(rho, k as f64);
                let (rho, k) = (load(rho), capacity(k));
                assert_close(mean_number(rho, k), eq3, 1e-11);
                assert_close(mean_delay(rho, k), eq4, 1e-11);
                assert_close(utilisation(rho, k), eq5, 1e-11);
            }
        }
    }

    #[test]
    fn eq_4_is_too_low_by_the_share_lost() {
        for (rho, k, error) in [(1.0, 1, -0.5), (0.95, 20, -0.0272), (0.99, 200, -0.001545)] {
            let (rho, k) = (load(rho), capacity(k));
            let exact = Mm1k::new(rho, k).mean_delay();
            assert_close(mean_delay(rho, k) / exact, 1.0 + delay_error(rho, k), 1e-12);
            assert_close(delay_error(rho, k), error, 0.005);
        }
    }
}
