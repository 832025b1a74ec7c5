//! Loss in bursts: a channel with a good and a bad state.
//!
//! # References
//! E. N. Gilbert, Bell Syst. Tech. J. 39 (1960); E. O. Elliott, ibid. 42 (1963). Linux `sch_netem`,
//! `loss gemodel p r 1-h 1-k`.
//!
//! # What we follow
//! The chain moves once for each packet, after the packet's fate was drawn by the state it met, as
//! in netem. It begins in the good state.

use super::chance;
use crate::seam::{Element, Output};
use fastrand::Rng;
use unbloat_params::params;
use unbloat_qdisc::{Backlog, Event, Packet, Reason};
use unbloat_units::Time;

params! {
    /// The default is Gilbert's simple channel with bursts of one packet and no loss at all.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params: Settings {
        /// p: probability of turning bad after a packet in the good state.
        pub to_bad: f64 = 0.0 => fraction;
        /// r: probability of turning good after a packet in the bad state; the mean burst is 1/r.
        pub to_good: f64 = 1.0 => fraction;
        /// 1 - h.
        pub loss_bad: f64 = 1.0 => fraction;
        /// 1 - k.
        pub loss_good: f64 = 0.0 => fraction;
    }
}

impl Params {
    /// Loses all packets in the bad state, with this share lost in the long run and this mean
    /// number of packets in a burst.
    pub fn of_loss_and_burst(loss: f64, mean_burst: f64) -> Params {
        let to_good = 1.0 / mean_burst.max(1.0);
        Params {
            to_bad: (to_good * loss / (1.0 - loss)).min(1.0),
            to_good,
            ..Params::default()
        }
    }

    /// The share of packets lost in the long run.
    pub fn mean_loss(&self) -> f64 {
        let bad = match self.to_bad + self.to_good {
            0.0 => 0.0,
            moves => self.to_bad / moves,
        };
        bad * self.loss_bad + (1.0 - bad) * self.loss_good
    }
}

/// A Gilbert-Elliott channel.
#[derive(Debug)]
pub struct Burst {
    params: Params,
    is_bad: bool,
    rng: Rng,
}

impl Burst {
    pub fn new(params: Params, rng: Rng) -> Burst {
        Burst {
            params,
            is_bad: false,
            rng,
        }
    }

    pub(crate) fn build(params: &Params, _start: Time, rng: &mut Rng) -> Burst {
        Burst::new(*params, rng.fork())
    }

    fn fate(&mut self) -> Option<Reason> {
        let (loss, turn, reason) = match self.is_bad {
            true => (self.params.loss_bad, self.params.to_good, Reason::Burst),
            false => (self.params.loss_good, self.params.to_bad, Reason::Random),
        };
        let lost = chance(loss, &mut self.rng);
        self.is_bad ^= chance(turn, &mut self.rng);
        lost.then_some(reason)
    }
}

impl Element for Burst {
    fn accept(&mut self, now: Time, packet: Packet, out: &mut impl Output) {
        match self.fate() {
            Some(reason) => out.event(now, Event::Dropped { packet, reason }),
            None => out.deliver(now, packet),
        }
    }

    fn next_at(&self) -> Option<Time> {
        None
    }

    fn advance(&mut self, _now: Time, _out: &mut impl Output) {}

    fn backlog(&self) -> Backlog {
        Backlog::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 1_000_000;

    fn fates(params: Params) -> Vec<bool> {
        let mut channel = Burst::new(params, Rng::with_seed(12));
        (0..PACKETS).map(|_| channel.fate().is_some()).collect()
    }

    #[test]
    fn loss_and_burst_length_are_those_of_the_closed_form() {
        let params = Params::of_loss_and_burst(0.02, 5.0);
        assert!((params.mean_loss() - 0.02).abs() < 1e-12);
        let fates = fates(params);
        let lost = fates.iter().filter(|lost| **lost).count() as f64;
        let bursts = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        // Variance of the mean is p(1-p)(1+c)/(1-c)/n with c = 1 - p - r = 0.796: sd 0.0004.
        assert!((lost / PACKETS as f64 - 0.02).abs() < 0.0016, "{lost}");
        // Geometric of mean 5, sd 4.5, over 4,000 bursts: sd of the mean 0.07.
        assert!((lost / bursts - 5.0).abs() < 0.28, "{}", lost / bursts);
    }

    #[test]
    fn burst_lengths_are_geometric() {
        let fates = fates(Params::of_loss_and_burst(0.1, 2.5));
        let mut lengths = [0u32; 12];
        for burst in fates.split(|lost| !lost).filter(|burst| !burst.is_empty()) {
            lengths[burst.len().min(11)] += 1;
        }
        let bursts: u32 = lengths.iter().sum();
        for (k, count) in lengths.iter().enumerate().take(11).skip(1) {
            let share = 0.6f64.powi(k as i32 - 1) * 0.4;
            let sd = (share * (1.0 - share) / f64::from(bursts)).sqrt();
            assert!(
                (f64::from(*count) / f64::from(bursts) - share).abs() < 4.0 * sd,
                "{k}: {count}"
            );
        }
    }

    #[test]
    fn loss_in_both_states_weighs_them_by_their_time() {
        let params = Params {
            to_bad: 0.1,
            to_good: 0.3,
            loss_bad: 0.5,
            loss_good: 0.01,
        };
        // A quarter of packets meet the bad state.
        assert!((params.mean_loss() - (0.25 * 0.5 + 0.75 * 0.01)).abs() < 1e-12);
        let lost = fates(params).iter().filter(|lost| **lost).count() as f64;
        assert!(
            (lost / PACKETS as f64 - params.mean_loss()).abs() < 0.002,
            "{lost}"
        );
    }

    #[test]
    fn the_default_loses_nothing() {
        assert!(!fates(Params::default()).contains(&true));
        assert_eq!(Params::default().mean_loss(), 0.0);
    }
}
