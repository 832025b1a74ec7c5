//! The search for the knee: the highest rate at which a shaper keeps delay low.
//!
//! 95 % of what was measured is a guess. The law asks for a trial at that rate; from there it goes up as long as delay stays low, and
//! down as long as it does not, then halves the interval between the highest good and the lowest bad rate until that is
//! narrow. Where no rate is good, but what is left of the delay is little and does not go with the rate, the highest such rate will do. One bad trial may be somebody else's traffic, so after it two of three decide. A trial whose load did not
//! reach the shaper says nothing, and is repeated.

use crate::plan::Qdisc;
use schemars::JsonSchema;
use serde::Serialize;
use unbloat_params::defaults;
use unbloat_units::{Delta, Rate};

defaults! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct KneeParams {
        /// Added delay (p95) under load that is low enough.
        pub target: Delta = Delta::ms(5);
        /// What will do where no rate reaches the target.
        pub tolerable: Delta = Delta::ms(30);
        /// Of the measured rate: where the search begins, in percent.
        pub first_percent: u64 = 95;
        /// Below this share nothing is searched: then the queue is elsewhere.
        pub least_percent: u64 = 50;
        /// It ends when good and bad are this close.
        pub close_percent: u64 = 2;
        /// A trial counts if its goodput reaches this share of the shaped rate (or its delay is too high).
        pub loaded_percent: u64 = 80;
        pub most_trials: u32 = 20;
    }
}

impl KneeParams {
    /// For a line of that rate behind that shaper: 5 ms, or three of the longest packets where they take longer (no shaper stops the
    /// one that it is at, and what is new waits for its turn); behind a FIFO what that holds, and a half more.
    pub fn of(measured: Rate, qdisc: Qdisc) -> KneeParams {
        const LONGEST_BITS: f64 = 12_000.0;
        const FIFO: Delta = Delta::ms(30);
        let packets = Delta::from_secs_f64(3.0 * LONGEST_BITS / measured.as_bps_f64().max(1.0));
        let usual = KneeParams::default();
        let shaper = match qdisc {
            Qdisc::Fifo => FIFO,
            Qdisc::Cake | Qdisc::FqCodel | Qdisc::OwnCake => usual.target,
        };
        KneeParams {
            target: shaper.max(packets),
            ..usual
        }
    }
}

/// What came of load through the shaper at a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    pub added_p95: Delta,
    pub goodput: Rate,
}

/// How a trial counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    Good,
    /// It is repeated.
    Doubtful,
    Bad,
    /// Load did not reach the shaper.
    Unloaded,
}

/// What the law wants next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asked {
    /// Shape to this, load, and tell.
    Trial(Rate),
    /// The highest rate that was good.
    Knee(Rate),
    /// No rate was good; at this one, the highest, no more than what is tolerable.
    Tolerable {
        rate: Rate,
        added_p95: Delta,
    },
    None(NoKnee),
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoKnee {
    #[error(
        "no rate down to {rate}, {percent} % of the line's, kept the added delay low; `unbloat locate` finds where the queue is"
    )]
    Elsewhere { rate: Rate, percent: u64 },
    #[error(
        "the load reached only {goodput} through a shaper of {rate}: use more connections or a nearer server"
    )]
    Unloaded { rate: Rate, goodput: Rate },
    #[error("no good rate found in {trials} trials")]
    TooMany { trials: u32 },
}

/// The search in one direction.
#[derive(Clone, Debug)]
pub struct Knee {
    params: KneeParams,
    measured: Rate,
    asked: Rate,
    good: Option<Rate>,
    bad: Option<Rate>,
    tolerable: Option<(Rate, Delta)>,
    /// Of the rate that is asked for: trials with little delay, with much, without load.
    low: u32,
    high: u32,
    unloaded: u32,
    trials: u32,
    last: Trial,
}

impl Knee {
    pub fn new(measured: Rate, params: KneeParams) -> Knee {
        Knee {
            asked: percent(measured, params.first_percent),
            params,
            measured,
            good: None,
            bad: None,
            tolerable: None,
            low: 0,
            high: 0,
            unloaded: 0,
            trials: 0,
            last: Trial {
                added_p95: Delta::ZERO,
                goodput: Rate::ZERO,
            },
        }
    }

    /// What to do now.
    pub fn asks(&self) -> Asked {
        /// Trials of one rate that may go without load.
        const MOST_UNLOADED: u32 = 2;
        let (rate, goodput) = (self.asked, self.last.goodput);
        if self.unloaded >= MOST_UNLOADED {
            return match self.good {
                Some(good) => Asked::Knee(good),
                None => Asked::None(NoKnee::Unloaded { rate, goodput }),
            };
        }
        if self.is_over() {
            return match self.good {
                Some(good) => Asked::Knee(good),
                None => self.without_good(),
            };
        }
        Asked::Trial(self.asked)
    }

    fn without_good(&self) -> Asked {
        match self.tolerable {
            Some((rate, added_p95)) => Asked::Tolerable { rate, added_p95 },
            None if self.trials < self.params.most_trials => Asked::None(NoKnee::Elsewhere {
                rate: self.asked,
                percent: self.params.least_percent,
            }),
            None => Asked::None(NoKnee::TooMany {
                trials: self.trials,
            }),
        }
    }

    /// Takes what came of the trial that was asked for.
    pub fn tell(&mut self, trial: Trial) -> Judged {
        self.trials += 1;
        self.last = trial;
        let judged = self.judge(trial);
        match judged {
            Judged::Unloaded => self.unloaded += 1,
            Judged::Doubtful => {}
            Judged::Good => self.good = Some(self.asked),
            Judged::Bad => {
                self.bad = Some(self.asked);
                if trial.added_p95 <= self.params.tolerable {
                    self.tolerable.get_or_insert((self.asked, trial.added_p95));
                }
            }
        }
        if matches!(judged, Judged::Good | Judged::Bad) {
            (self.low, self.high, self.unloaded) = (0, 0, 0);
            if !self.is_over() {
                self.asked = self.next();
            }
        }
        judged
    }

    pub fn trials(&self) -> u32 {
        self.trials
    }

    pub fn params(&self) -> &KneeParams {
        &self.params
    }

    fn judge(&mut self, trial: Trial) -> Judged {
        const MOST: u32 = 2;
        let is_low = trial.added_p95 <= self.params.target;
        if is_low && trial.goodput < percent(self.asked, self.params.loaded_percent) {
            return Judged::Unloaded;
        }
        match is_low {
            true => self.low += 1,
            false => self.high += 1,
        }
        match (self.low, self.high) {
            (MOST.., _) | (_, 0) => Judged::Good,
            (_, MOST..) => Judged::Bad,
            _ => Judged::Doubtful,
        }
    }

    fn is_over(&self) -> bool {
        let close = percent(self.measured, self.params.close_percent);
        let is_close = match (self.good, self.bad) {
            (Some(good), Some(bad)) => bad.as_bps() - good.as_bps() <= close.as_bps(),
            // All that was measured is good.
            (Some(good), None) => good >= self.measured,
            (None, Some(bad)) => bad <= percent(self.measured, self.params.least_percent),
            (None, None) => false,
        };
        is_close || self.trials >= self.params.most_trials
    }

    fn next(&self) -> Rate {
        let least = percent(self.measured, self.params.least_percent);
        match (self.good, self.bad) {
            (Some(good), Some(bad)) => Rate::bps((good.as_bps() + bad.as_bps()) / 2),
            // The rest in halves would never end: what is left is one step.
            (Some(_), None) => self.measured,
            // Twice as far down each time.
            (None, Some(bad)) => {
                let down = (self.measured.as_bps().saturating_sub(bad.as_bps())) * 2;
                Rate::bps(self.measured.as_bps().saturating_sub(down)).max(least)
            }
            (None, None) => self.asked,
        }
    }
}

fn percent(rate: Rate, percent: u64) -> Rate {
    Rate::bps(rate.as_bps() / 100 * percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Rate = Rate::mbps(20);

    /// A line whose queue is in front of the shaper above `knee`, and in it below.
    fn response(rate: Rate, knee: Rate) -> Trial {
        let added_p95 = if rate > knee {
            Delta::ms(180)
        } else {
            Delta::ms(3)
        };
        let goodput = Rate::bps(rate.min(knee).as_bps() / 100 * 94);
        Trial { added_p95, goodput }
    }

    fn search(mut trial: impl FnMut(Rate, u32) -> Trial) -> (Asked, u32) {
        let mut knee = Knee::new(LINE, KneeParams::default());
        loop {
            match knee.asks() {
                Asked::Trial(rate) => {
                    knee.tell(trial(rate, knee.trials()));
                }
                end => return (end, knee.trials()),
            }
        }
    }

    #[test]
    fn the_knee_is_found_wherever_it_is() {
        for percent_of_line in 52..=100 {
            let knee = percent(LINE, percent_of_line);
            let (end, trials) = search(|rate, _| response(rate, knee));
            let Asked::Knee(found) = end else {
                panic!("{end:?} at {percent_of_line} %");
            };
            let short = knee.as_bps().checked_sub(found.as_bps()).unwrap();
            assert!(short <= percent(LINE, 2).as_bps(), "{found} of {knee}");
            assert!(trials <= 16, "{trials} at {percent_of_line} %");
        }
    }

    #[test]
    fn one_bad_trial_by_chance_changes_nothing() {
        let knee = percent(LINE, 90);
        for chance in 0..8 {
            let (end, _) = search(|rate, number| match number == chance {
                true => response(LINE, Rate::ZERO),
                false => response(rate, knee),
            });
            let Asked::Knee(found) = end else {
                panic!("{end:?}");
            };
            assert!((percent(LINE, 88)..=knee).contains(&found), "{found}");
        }
    }

    #[test]
    fn a_rate_that_was_bad_once_is_good_after_two_of_three() {
        let mut knee = Knee::new(LINE, KneeParams::default());
        let [good, bad] = [Rate::ZERO, LINE].map(|at| Trial {
            added_p95: response(at, percent(LINE, 50)).added_p95,
            goodput: LINE,
        });
        let told = [bad, good, good, bad, good, bad].map(|trial| knee.tell(trial));
        let doubt = Judged::Doubtful;
        assert_eq!(
            told,
            [doubt, doubt, Judged::Good, doubt, doubt, Judged::Bad]
        );
    }

    #[test]
    fn a_queue_that_is_elsewhere_is_told() {
        let (end, _) = search(|_, _| response(LINE, Rate::ZERO));
        assert!(
            matches!(end, Asked::None(NoKnee::Elsewhere { rate, .. }) if rate == percent(LINE, 50))
        );
    }

    #[test]
    fn little_delay_that_does_not_go_with_the_rate_is_tolerated_at_the_highest_rate_that_has_no_more()
     {
        let knee = percent(LINE, 91);
        let (end, _) = search(|rate, _| match rate > knee {
            true => response(LINE, Rate::ZERO),
            false => Trial {
                added_p95: Delta::ms(11),
                ..response(rate, knee)
            },
        });
        let (rate, added_p95) = (percent(LINE, 90), Delta::ms(11));
        assert_eq!(end, Asked::Tolerable { rate, added_p95 });
    }

    #[test]
    fn slow_lines_and_fifos_are_asked_for_what_they_can_do() {
        let target = |rate, qdisc| KneeParams::of(rate, qdisc).target;
        assert_eq!(target(LINE, Qdisc::Cake), Delta::ms(5));
        assert_eq!(target(Rate::mbps(4), Qdisc::OwnCake), Delta::ms(9));
        assert_eq!(target(LINE, Qdisc::Fifo), Delta::ms(30));
    }

    #[test]
    fn load_that_does_not_reach_the_shaper_says_nothing() {
        let idle = Trial {
            added_p95: Delta::ZERO,
            goodput: Rate::mbps(1),
        };
        let (end, trials) = search(|_, _| idle);
        assert!(matches!(end, Asked::None(NoKnee::Unloaded { .. })));
        assert_eq!(trials, 2);
    }
}
