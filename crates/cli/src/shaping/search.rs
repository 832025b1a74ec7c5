//! Finds the knee of a live line by short tests through a shaper at different rates.

use super::Ground;
use crate::exit::Failure;
use crate::loadtest;
use crate::print::note;
use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_loadtest::{Options, Stack};
use unbloat_responsiveness::{LoadedDirection, Verdict};
use unbloat_sqm::{Asked, Judged, Knee, KneeParams, NoKnee, Plan, Trial, Tried};
use unbloat_units::{Both, Delta, Direction, Framing, Rate};

/// Stage lengths of a trial: idle, and each direction under test.
const IDLE: Delta = Delta::ms(1_500);
const LOADED: Delta = Delta::secs(6);
/// Stage length of the first test, which measures the line rate.
const FIRST: Delta = Delta::secs(8);
const INTERVAL: Delta = Delta::ms(500);
/// Maximum consecutive invalid trials.
const MOST_DISTRUSTED: u32 = 3;

/// A search ends when so many trials after another were not valid.
#[derive(Debug, thiserror::Error)]
#[error("{MOST_DISTRUSTED} consecutive trials were not valid ({0}); run the command again")]
pub struct Distrusted(String);

/// A search, and where it installs shapers.
pub struct Search<'a> {
    pub ground: &'a Ground,
    /// Framing of the trial shapers.
    pub framing: Framing,
    pub nat: bool,
    /// Round trip of the idle path; the first test finds it if it is not known.
    pub rtt: Option<Delta>,
    /// Rates of directions that are shaped and not searched.
    pub held: Both<Option<Rate>>,
    pub args: &'a loadtest::Args,
    pub options: &'a Options,
    pub stop: &'a AtomicBool,
}

/// Result of a search.
pub struct Sought {
    /// The highest rates with low delay, of the requested directions. None: interrupted.
    pub found: Option<Both<Option<Rate>>>,
    /// Directions that have no such rate.
    pub without: Vec<(Direction, NoKnee)>,
    pub trials: Vec<Tried>,
}

impl Search<'_> {
    /// Measures the line rates, framing included. None if interrupted.
    pub fn measure(&mut self) -> Result<Option<Both<Option<Rate>>>, Failure> {
        note!("unbloat: measuring the line rate");
        let rates = self
            .test(Both::new(FIRST, FIRST), None)?
            .map(|tested| Both::of(|way| Some(self.framing.of_ip(tested.of(way)?.line))));
        match rates {
            Some(rates) if rates == Both::default() => Err("no direction was loaded, so the line rates are unknown; give --rate-down and --rate-up".into()),
            rates => Ok(rates),
        }
    }

    /// Finds the highest rate of each direction with a known line rate. Restores the previous configuration.
    pub fn run(
        &mut self,
        measured: Both<Option<Rate>>,
        params: impl Fn(Rate) -> KneeParams,
    ) -> Result<Sought, Failure> {
        let mut knees = measured.map(|one| one.map(|rate| Knee::new(rate, params(rate))));
        let (mut trials, mut distrusted) = (Vec::new(), 0);
        let found = loop {
            let (rates, lengths) = next(&knees, self.held);
            if lengths == Both::default() {
                break Some(
                    rates
                        .zip(self.held)
                        .map(|(rate, held)| rate.filter(|_| held.is_none())),
                );
            }
            let Some(tested) = self.test(lengths, Some(rates))? else {
                break None;
            };
            if let Some(reason) = tested.fatal().next() {
                distrusted += 1;
                note!("unbloat: repeating a trial that was not valid: {reason}");
                if distrusted == MOST_DISTRUSTED {
                    return Err(Distrusted(reason.to_owned()).into());
                }
                continue;
            }
            distrusted = 0;
            for way in Direction::BOTH {
                let is_tried = lengths[way] > Delta::ZERO;
                if let (Some(knee), Some(rate), Some(load), true) =
                    (&mut knees[way], rates[way], tested.of(way), is_tried)
                {
                    trials.push(self.tell(knee, way, rate, load));
                }
            }
        };
        if found.is_some() {
            say_tolerated(&knees);
        }
        let ended = knees
            .entries()
            .filter_map(|(way, knee)| match knee.as_ref()?.asks() {
                Asked::None(why) => Some((way, why)),
                _ => None,
            });
        Ok(Sought {
            found,
            without: ended.collect(),
            trials,
        })
    }

    fn tell(&self, knee: &mut Knee, way: Direction, shaped: Rate, load: &LoadedDirection) -> Tried {
        let judged = knee.tell(Trial {
            added_p95: load.added_p95,
            goodput: self.framing.line_rate(load.delivered),
        });
        let tried = Tried {
            direction: way.name(),
            shaped_bps: shaped.as_bps(),
            added_p95_ms: load.added_p95.as_ms(),
            delivered_bps: load.delivered.as_bps(),
            judged,
        };
        let word = match judged {
            Judged::Good => "good",
            Judged::Doubtful => "doubtful, repeating",
            Judged::Bad => "bad",
            Judged::Unloaded => "load below the shaped rate, repeating",
        };
        note!(
            "unbloat: {} at {shaped}: added delay p95 {:.1} ms (limit {:.1} ms), {} delivered: {word}",
            tried.direction,
            tried.added_p95_ms,
            knee.params().target.as_ms(),
            load.delivered,
        );
        tried
    }

    /// Runs a short test with these stage lengths, down and up, with or without a shaper. None if interrupted.
    fn test(
        &mut self,
        lengths: Both<Delta>,
        rates: Option<Both<Option<Rate>>>,
    ) -> Result<Option<Verdict>, Failure> {
        let lengths = [IDLE, lengths.down, lengths.up, Delta::ZERO];
        let plan = unbloat_loadtest::Plan::of("trial", INTERVAL, lengths, &[Stack::NetworkOnly]);
        let mut options = Options {
            plan,
            ..self.options.clone()
        };
        if let Some(rates) = rates {
            let known = options.probing.line;
            options.probing.line = Both::of(|way| rates[way].or(known[way]));
            options.is_shaped = rates.map(|rate| rate.is_some());
        }
        let placed = rates.map(|rates| {
            let mut shaper = Plan::new(
                self.ground.device.clone(),
                rates,
                self.framing,
                self.ground.qdisc,
            )?;
            shaper.nat = self.nat;
            let shaper = shaper.with_rtt(self.rtt);
            self.ground.apply(&shaper)
        });
        let placed = placed.transpose()?;
        let finished = loadtest::trial(self.args, &options, self.stop);
        if let Some(placed) = placed {
            placed.release()?;
        }
        let verdict = finished?.verdict();
        self.rtt = self.rtt.or(verdict.as_ref().and_then(Verdict::idle_rtt));
        let is_stopped = self.stop.load(Ordering::Relaxed);
        Ok(verdict.filter(|_| !is_stopped))
    }
}

fn say_tolerated(knees: &Both<Option<Knee>>) {
    for (way, knee) in knees.entries() {
        if let Some(knee) = knee
            && let Asked::Tolerable { rate, added_p95 } = knee.asks()
        {
            note!(
                "unbloat: {}: no rate kept added delay p95 within {:.1} ms; using {rate}, the highest with a tolerable {:.1} ms",
                way.name(),
                knee.params().target.as_ms(),
                added_p95.as_ms(),
            );
        }
    }
}

/// Rates, and how long to load each direction: not at all at the end. Tries both directions in one test; one whose knee is known keeps that rate, one that
/// has none is no longer shaped.
fn next(knees: &Both<Option<Knee>>, held: Both<Option<Rate>>) -> (Both<Option<Rate>>, Both<Delta>) {
    let (mut rates, mut lengths) = (held, Both::<Delta>::default());
    for way in Direction::BOTH {
        match knees[way].as_ref().map(Knee::asks) {
            None | Some(Asked::None(_)) => {}
            Some(Asked::Knee(rate) | Asked::Tolerable { rate, .. }) => rates[way] = Some(rate),
            Some(Asked::Trial(rate)) => (rates[way], lengths[way]) = (Some(rate), LOADED),
        }
    }
    (rates, lengths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_that_has_its_knee_keeps_it_while_the_other_is_tried() {
        let line = Rate::mbps(20);
        let trial = |added_ms| Trial {
            added_p95: Delta::ms(added_ms),
            goodput: line,
        };
        let knee = || Knee::new(line, KneeParams::default());
        let mut knees = Both::of(|_| Some(knee()));
        let Both {
            down: Some(down),
            up: Some(up),
        } = &mut knees
        else {
            unreachable!()
        };
        down.tell(trial(1));
        down.tell(trial(1));
        up.tell(trial(1));
        let (rates, lengths) = next(&knees, Both::default());
        assert_eq!(rates, Both::new(Some(line), Some(line)));
        assert_eq!(lengths, Both::new(Delta::ZERO, LOADED));
        let held = Both::new(Some(Rate::mbps(9)), None);
        let (only_up, only_up_lengths) = next(&Both::new(None, Some(knee())), held);
        assert!(only_up.down == held.down && only_up.up.is_some());
        assert_eq!(only_up_lengths, Both::new(Delta::ZERO, LOADED));
        assert_eq!(next(&Both::default(), held), (held, Both::default()));
    }

    #[test]
    fn a_direction_without_a_good_rate_does_not_end_the_search_of_the_other() {
        let line = Rate::mbps(20);
        let mut without = Knee::new(line, KneeParams::default());
        while let Asked::Trial(_) = without.asks() {
            without.tell(Trial {
                added_p95: Delta::ms(200),
                goodput: line,
            });
        }
        let other = Knee::new(line, KneeParams::default());
        let (rates, lengths) = next(&Both::new(Some(without), Some(other)), Both::default());
        assert_eq!(lengths, Both::new(Delta::ZERO, LOADED));
        assert!(rates.down.is_none() && rates.up.is_some());
    }
}
