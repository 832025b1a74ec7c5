//! The law of cake-autorate: small steps by the delay of probes, between rates that a user typed in.
//!
//! # References
//! lynxthecat/cake-autorate, `cake-autorate.sh` and `defaults.sh` of August 2026; names of parameters are its own, without their units.
//!
//! # What we follow
//! A baseline for each reflector, the window of the last six samples, thresholds, both factors, refractory times, decay to the base rate, the
//! least rates after ten seconds without an answer.
//!
//! # Where we differ
//! Reflectors are not replaced (ours answer), it does not go to sleep, and load is measured over 200 ms that slide, not over 200 ms by a timer.

use crate::decision::Reason;
use std::collections::VecDeque;
use unbloat_units::{Delta, Rate, Time};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    pub min_shaper_rate: Rate,
    pub base_shaper_rate: Rate,
    pub max_shaper_rate: Rate,
    pub avg_owd_delta_max_adjust_up_thr: Delta,
    pub owd_delta_delay_thr: Delta,
    pub avg_owd_delta_max_adjust_down_thr: Delta,
    pub high_load_thr: f64,
    pub bufferbloat_refractory_period: Delta,
    pub decay_refractory_period: Delta,
}

impl Params {
    /// The shipped ones of the downlink; for the uplink only the largest rate differs, 35 Mbit/s.
    pub fn shipped(max: Rate) -> Params {
        Params {
            min_shaper_rate: Rate::mbps(5),
            base_shaper_rate: Rate::mbps(20),
            max_shaper_rate: max,
            avg_owd_delta_max_adjust_up_thr: Delta::ms(10),
            owd_delta_delay_thr: Delta::ms(30),
            avg_owd_delta_max_adjust_down_thr: Delta::ms(60),
            high_load_thr: 0.75,
            bufferbloat_refractory_period: Delta::ms(300),
            decay_refractory_period: Delta::secs(1),
        }
    }
}

impl Default for Params {
    fn default() -> Params {
        Params::shipped(Rate::mbps(80))
    }
}

/// `bufferbloat_detection_window` and `bufferbloat_detection_thr`.
const WINDOW: usize = 6;
const LATE: usize = 3;
/// `alpha_baseline_increase`, `alpha_baseline_decrease`, and with what a baseline begins.
const RISING: f64 = 0.001;
const FALLING: f64 = 0.9;
const FIRST_MS: f64 = 100.0;
/// `global_ping_response_timeout`.
pub(crate) const SILENCE: Delta = Delta::secs(10);
/// `no_pingers` and `reflector_ping_interval`: each of six reflectors every 0.3 s, in turns.
pub(crate) const REFLECTORS: u32 = 6;
pub(crate) const EVERY: Delta = Delta::ms(50);

/// One direction.
#[derive(Clone, Debug)]
pub(crate) struct CakeAutorate {
    params: Params,
    rate: f64,
    baselines_ms: [f64; REFLECTORS as usize],
    deltas_ms: VecDeque<f64>,
    late: VecDeque<bool>,
    bloated_at: Time,
    decayed_at: Time,
}

impl CakeAutorate {
    pub(crate) fn new(params: Params, start: Time) -> CakeAutorate {
        CakeAutorate {
            rate: params.base_shaper_rate.as_bps_f64(),
            params,
            baselines_ms: [FIRST_MS; REFLECTORS as usize],
            deltas_ms: VecDeque::from(vec![0.0; WINDOW]),
            late: VecDeque::from(vec![false; WINDOW]),
            bloated_at: start,
            decayed_at: start,
        }
    }

    pub(crate) fn rate(&self) -> Rate {
        Rate::from_bps_f64(self.rate)
    }

    /// A packet of 1,500 bytes takes this long at the rate; thresholds give way to it.
    fn compensation(&self) -> Delta {
        Delta::from_secs_f64(12_000.0 / self.rate)
    }

    pub(crate) fn threshold(&self) -> Delta {
        self.params.owd_delta_delay_thr + self.compensation()
    }

    /// The mean of the last samples, beyond their baselines.
    pub(crate) fn average(&self) -> Delta {
        let sum: f64 = self.deltas_ms.iter().sum();
        Delta::from_secs_f64(sum / WINDOW as f64 / 1e3)
    }

    /// A reflector answered: one way took so long. `load` is of the shaper's rate, and fresh.
    pub(crate) fn answered(
        &mut self,
        now: Time,
        reflector: u32,
        one_way: Delta,
        load: f64,
    ) -> Option<Reason> {
        self.note(reflector, one_way.as_ms());
        let is_bloated = self.late.iter().filter(|late| **late).count() >= LATE;
        let is_over = |since: Time, period| now.since(since) > period;
        let refractory = self.params.bufferbloat_refractory_period;
        let reason = if is_bloated {
            if !is_over(self.bloated_at, refractory) {
                return None;
            }
            self.bloated_at = now;
            self.rate *= self.cut();
            Reason::Bloat
        } else if load > self.params.high_load_thr {
            if !is_over(self.bloated_at, refractory) {
                return None;
            }
            self.rate *= self.rise();
            Reason::HighLoad
        } else {
            if !is_over(self.bloated_at, refractory)
                || !is_over(self.decayed_at, self.params.decay_refractory_period)
            {
                return None;
            }
            self.decayed_at = now;
            self.decay();
            Reason::Decay
        };
        self.clamp();
        Some(reason)
    }

    /// Nobody answered for [`SILENCE`].
    pub(crate) fn silent(&mut self) -> Option<Reason> {
        let least = self.params.min_shaper_rate.as_bps_f64();
        (self.rate != least).then(|| {
            self.rate = least;
            Reason::Silence
        })
    }

    fn note(&mut self, reflector: u32, one_way_ms: f64) {
        let baseline = &mut self.baselines_ms[(reflector % REFLECTORS) as usize];
        let alpha = if one_way_ms >= *baseline {
            RISING
        } else {
            FALLING
        };
        *baseline += alpha * (one_way_ms - *baseline);
        let delta = one_way_ms - *baseline;
        self.deltas_ms.pop_front();
        self.deltas_ms.push_back(delta);
        self.late.pop_front();
        self.late.push_back(delta > self.threshold().as_ms());
    }

    /// 0.99 for an average at the threshold, 0.75 for one at the upper threshold and beyond.
    fn cut(&self) -> f64 {
        let params = &self.params;
        let span = params.avg_owd_delta_max_adjust_down_thr - params.owd_delta_delay_thr;
        0.99 - 0.24 * share(self.average() - self.threshold(), span)
    }

    /// 1 for an average at the threshold, 1.04 for one at the lower threshold and below.
    fn rise(&self) -> f64 {
        let params = &self.params;
        let span = params.owd_delta_delay_thr - params.avg_owd_delta_max_adjust_up_thr;
        1.0 + 0.04 * share(self.threshold() - self.average(), span)
    }

    fn decay(&mut self) {
        let base = self.params.base_shaper_rate.as_bps_f64();
        self.rate = if self.rate > base {
            (self.rate * 0.99).max(base)
        } else {
            (self.rate * 1.01).min(base)
        };
    }

    fn clamp(&mut self) {
        self.rate = self.rate.clamp(
            self.params.min_shaper_rate.as_bps_f64(),
            self.params.max_shaper_rate.as_bps_f64(),
        );
    }
}

/// How far into a span between two thresholds; all of it where they leave none between them, as cake-autorate has it.
fn share(into: Delta, span: Delta) -> f64 {
    match span <= Delta::ZERO {
        true => 1.0,
        false => (into.as_secs() / span.as_secs()).clamp(0.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six reflectors in turns, 50 ms apart.
    fn feed(law: &mut CakeAutorate, from: i64, to: i64, one_way_ms: i64, load: f64) -> Vec<Reason> {
        let each = (from..to).filter_map(|k| {
            let at = Time::from_ns(0) + EVERY * k;
            law.answered(at, k as u32 % REFLECTORS, Delta::ms(one_way_ms), load)
        });
        each.collect()
    }

    fn settled() -> CakeAutorate {
        let mut law = CakeAutorate::new(Params::default(), Time::from_ns(0));
        // 100 ms fall to 20 ms within three rounds.
        feed(&mut law, 0, 30, 20, 0.0);
        law
    }

    #[test]
    fn the_third_late_sample_of_six_cuts_by_a_quarter_at_most_and_then_every_300_ms() {
        let mut law = settled();
        let before = law.rate().as_bps_f64();
        assert_eq!(feed(&mut law, 30, 32, 200, 1.0), [Reason::HighLoad; 2]);
        assert_eq!(feed(&mut law, 32, 33, 200, 1.0), [Reason::Bloat]);
        let cuts = feed(&mut law, 33, 33 + 14, 200, 1.0);
        assert_eq!(cuts, [Reason::Bloat; 2], "more than 300 ms apart");
        let after = law.rate().as_bps_f64();
        assert!(
            (after / before - 0.75_f64.powi(3)).abs() < 0.02,
            "{}",
            after / before
        );
    }

    #[test]
    fn high_load_in_time_rises_by_four_percent_a_sample_up_to_the_largest_rate() {
        let mut law = settled();
        let before = law.rate().as_bps_f64();
        feed(&mut law, 30, 35, 20, 0.9);
        assert!((law.rate().as_bps_f64() / before - 1.04_f64.powi(5)).abs() < 1e-6);
        feed(&mut law, 35, 200, 20, 0.9);
        assert_eq!(law.rate(), Rate::mbps(80));
    }

    #[test]
    fn without_load_it_goes_back_to_the_base_rate_by_a_percent_a_second() {
        let mut law = settled();
        feed(&mut law, 30, 40, 20, 0.9);
        let before = law.rate().as_bps_f64();
        let reasons = feed(&mut law, 40, 40 + 63, 20, 0.1);
        assert_eq!(reasons, [Reason::Decay; 3]);
        assert!((law.rate().as_bps_f64() / before - 0.99_f64.powi(3)).abs() < 1e-6);
        feed(&mut law, 103, 3_000, 20, 0.1);
        assert_eq!(law.rate(), Rate::mbps(20));
    }

    #[test]
    fn thresholds_with_nothing_between_them_change_the_rate_by_the_most_at_once() {
        let thr = Params::default().owd_delta_delay_thr;
        for (down, up) in [(thr, thr), (Delta::ZERO, thr * 2)] {
            let params = Params {
                avg_owd_delta_max_adjust_down_thr: down,
                avg_owd_delta_max_adjust_up_thr: up,
                ..Params::default()
            };
            let mut law = CakeAutorate::new(params, Time::from_ns(0));
            feed(&mut law, 0, 30, 20, 0.0);
            let before = law.rate().as_bps_f64();
            assert_eq!(feed(&mut law, 30, 31, 20, 1.0), [Reason::HighLoad]);
            let risen = law.rate().as_bps_f64();
            assert!((risen / before - 1.04).abs() < 1e-6, "{}", risen / before);
            feed(&mut law, 31, 36, 52, 0.0);
            let cut = law.rate().as_bps_f64();
            assert!((cut / risen - 0.75).abs() < 1e-6, "{}", cut / risen);
        }
    }

    #[test]
    fn silence_gives_the_least_rate_once() {
        let mut law = settled();
        assert_eq!(law.silent(), Some(Reason::Silence));
        assert_eq!((law.rate(), law.silent()), (Rate::mbps(5), None));
    }
}
