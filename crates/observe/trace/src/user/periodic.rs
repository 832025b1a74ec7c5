//! Periodic range requests to one host (§7.2, Fig. 24).
//!
//! Players that fetch a piece of a video every few seconds keep the radio on between. The paper
//! shows one such player and gives no rule; ours is: requests at most a second apart are one round
//! (picture and sound come together); the last [`INTERVALS`] intervals between the beginnings of
//! rounds have a coefficient of variation below [`MOST_VARIATION`]. Of requests at
//! random, with exponential intervals, one run of six rounds in 300 passes that test.

use std::collections::VecDeque;
use unbloat_units::{Delta, Time};

const SAME_ROUND: Delta = Delta::secs(1);

/// Six rounds: a player with the period of Fig. 24, 10 s, is found after 50 s.
const INTERVALS: usize = 5;

const MOST_VARIATION: f64 = 0.2;

/// Hosts watched per user; another one takes the place of the one that was asked longest ago.
const MAX_HOSTS: usize = 16;

/// Longer than any name of the DNS.
const MAX_NAME: usize = 255;

/// What a request adds to what is known of its host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rhythm {
    /// Mean interval, while requests are periodic.
    pub(crate) period: Option<Delta>,
    /// This request made them so.
    pub(crate) begins: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Periodic {
    hosts: Vec<Host>,
}

#[derive(Clone, Debug)]
struct Host {
    name: Box<str>,
    /// When the round that is under way began.
    round: Time,
    last: Time,
    intervals: VecDeque<Delta>,
    period: Option<Delta>,
}

impl Periodic {
    pub(super) fn on_range_request(&mut self, host: &str, now: Time) -> Rhythm {
        match self.hosts.iter_mut().find(|h| *h.name == *host) {
            Some(known) => known.on_request(now),
            None => {
                self.begin(host, now);
                Rhythm::default()
            }
        }
    }

    fn begin(&mut self, host: &str, now: Time) {
        if host.len() > MAX_NAME {
            return;
        }
        if self.hosts.len() == MAX_HOSTS {
            let oldest = (0..MAX_HOSTS).min_by_key(|&i| self.hosts[i].last);
            self.hosts.swap_remove(oldest.expect("there are some"));
        }
        self.hosts.push(Host {
            name: host.into(),
            round: now,
            last: now,
            intervals: VecDeque::with_capacity(INTERVALS),
            period: None,
        });
    }
}

impl Host {
    fn on_request(&mut self, now: Time) -> Rhythm {
        let goes_on = now.since(self.last) <= SAME_ROUND;
        self.last = self.last.max(now);
        if goes_on {
            let period = self.period;
            return Rhythm {
                period,
                begins: false,
            };
        }
        if self.intervals.len() == INTERVALS {
            self.intervals.pop_front();
        }
        self.intervals.push_back(now.since(self.round));
        self.round = now;
        let was_periodic = self.period.is_some();
        self.period = period(&self.intervals);
        Rhythm {
            period: self.period,
            begins: !was_periodic && self.period.is_some(),
        }
    }
}

/// The mean of intervals that vary little.
fn period(intervals: &VecDeque<Delta>) -> Option<Delta> {
    let n = intervals.len() as f64;
    let mean = intervals.iter().map(|i| i.as_secs()).sum::<f64>() / n;
    let squares = intervals.iter().map(|i| (i.as_secs() - mean).powi(2));
    let variation = (squares.sum::<f64>() / n).sqrt() / mean;
    let is_periodic = intervals.len() == INTERVALS && variation < MOST_VARIATION;
    is_periodic.then(|| Delta::from_secs_f64(mean))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: f64) -> Time {
        Time::default() + Delta::from_secs_f64(s)
    }

    fn rhythms(times: &[f64]) -> Vec<Rhythm> {
        let mut periodic = Periodic::default();
        let request = |&s: &f64| periodic.on_range_request("host", at(s));
        times.iter().map(request).collect()
    }

    fn last_period(times: &[f64]) -> Option<Delta> {
        rhythms(times).last().unwrap().period
    }

    #[test]
    fn the_player_of_fig_24_is_found_with_its_sixth_request() {
        let found = rhythms(&[0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        let period = Some(Delta::secs(10));
        assert_eq!(found[4], Rhythm::default());
        let expected = [true, false].map(|begins| Rhythm { period, begins });
        assert_eq!(found[5..], expected);
    }

    #[test]
    fn picture_and_sound_are_one_round() {
        let times: Vec<f64> = (0..6)
            .flat_map(|i| [f64::from(i) * 4.0, f64::from(i) * 4.0 + 0.6])
            .collect();
        assert_eq!(last_period(&times), Some(Delta::secs(4)));
    }

    #[test]
    fn intervals_that_vary_by_a_fifth_are_no_period() {
        // Intervals of 10 - d and 10 + d, the last one 10: the variation is d sqrt(4/5) / 10.
        let with = |d: f64| [0.0, 10.0 - d, 20.0, 30.0 - d, 40.0, 50.0];
        assert_eq!(last_period(&with(2.2)), Some(Delta::secs(10)));
        assert_eq!(last_period(&with(2.3)), None);
    }

    #[test]
    fn a_rhythm_that_is_lost_and_found_begins_anew() {
        let mut times: Vec<f64> = (0..6).map(|i| f64::from(i) * 10.0).collect();
        times.push(90.0);
        times.extend((1..=5).map(|i| 90.0 + f64::from(i) * 10.0));
        let begins: Vec<usize> = (0..times.len())
            .filter(|&i| rhythms(&times)[i].begins)
            .collect();
        assert_eq!(begins, [5, 11]);
    }

    #[test]
    fn hosts_are_watched_apart_and_within_bounds() {
        let mut periodic = Periodic::default();
        for round in 0..6 {
            for host in ["a", "b"] {
                let offset = if host == "a" { 0.0 } else { 3.0 };
                let rhythm = periodic.on_range_request(host, at(f64::from(round) * 10.0 + offset));
                assert_eq!(rhythm.begins, round == 5);
            }
        }
        for i in 0..100 {
            periodic.on_range_request(&i.to_string(), at(100.0));
        }
        periodic.on_range_request(&"x".repeat(1000), at(101.0));
        assert_eq!(periodic.hosts.len(), MAX_HOSTS);
    }
}
