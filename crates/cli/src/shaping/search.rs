//! Finds the knee of a live line by short tests through a shaper at different rates.

use super::{Ground, ShapingError};
use crate::loadtest::{self, RunTestError};
use crate::print::note;
use std::sync::atomic::{AtomicBool, Ordering};
use unbloat_loadtest::{Options, Stack};
use unbloat_responsiveness::{LoadedDirection, Verdict};
use unbloat_sqm::{Asked, Judged, Knee, KneeParams, NoKnee, Plan, PlanError, Trial, Tried};
use unbloat_units::{Both, Delta, Direction, Framing, Rate};

/// Stage lengths of a trial: idle, and each direction under test.
const IDLE: Delta = Delta::ms(1_500);
const LOADED: Delta = Delta::secs(6);
/// Stage length of the first test, which measures the line rate.
const FIRST: Delta = Delta::secs(8);
const INTERVAL: Delta = Delta::ms(500);
/// Maximum consecutive invalid trials.
const MOST_DISTRUSTED: u32 = 3;

#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error(transparent)]
    Shaping(#[from] ShapingError),
    #[error(transparent)]
    Test(#[from] RunTestError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("{MOST_DISTRUSTED} consecutive trials were not valid ({0}); run the command again")]
    Distrusted(String),
    #[error(
        "no direction was loaded, so the line rates are unknown; give --rate-down and --rate-up"
    )]
    Unloaded,
}

/// A search, and where it installs shapers.
pub struct Search<'a> {
    pub ground: &'a Ground,
    /// Framing of the trial shapers.
    pub framing: Framing,
    pub nat: bool,
    pub args: &'a loadtest::Args,
    pub options: &'a Options,
    pub stop: &'a AtomicBool,
}

/// Result of a search.
pub struct Sought {
    pub end: End,
    pub trials: Vec<Tried>,
}

pub enum End {
    /// The highest rates with low delay, of the requested directions.
    Found(Both<Option<Rate>>),
    /// A direction has no knee.
    None(Direction, NoKnee),
    Stopped,
}

impl Search<'_> {
    /// Measures the line rates, framing included. None if interrupted.
    pub fn measure(&self) -> Result<Option<Both<Option<Rate>>>, SearchError> {
        note!("unbloat: measuring the line rate");
        let rates = self
            .test(Both::new(FIRST, FIRST), None)?
            .map(|tested| Both::of(|way| Some(self.framing.line_rate(tested.of(way)?.delivered))));
        match rates {
            Some(rates) if rates == Both::default() => Err(SearchError::Unloaded),
            rates => Ok(rates),
        }
    }

    /// Finds the highest rate of each direction with a known line rate. Restores the previous configuration.
    pub fn run(
        &self,
        measured: Both<Option<Rate>>,
        params: impl Fn(Rate) -> KneeParams,
    ) -> Result<Sought, SearchError> {
        let mut knees = measured.map(|one| one.map(|rate| Knee::new(rate, params(rate))));
        let (mut trials, mut distrusted) = (Vec::new(), 0);
        let end = loop {
            let (rates, lengths) = match next(&knees) {
                Next::Trial(rates, lengths) => (rates, lengths),
                Next::End(end) => break end,
            };
            let Some(tested) = self.test(lengths, Some(rates))? else {
                break End::Stopped;
            };
            if let Some(reason) = tested.fatal().next() {
                distrusted += 1;
                note!("unbloat: repeating a trial that was not valid: {reason}");
                if distrusted == MOST_DISTRUSTED {
                    return Err(SearchError::Distrusted(reason.to_owned()));
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
        if let End::Found(_) = end {
            say_tolerated(&knees);
        }
        Ok(Sought { end, trials })
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
        &self,
        lengths: Both<Delta>,
        rates: Option<Both<Option<Rate>>>,
    ) -> Result<Option<Verdict>, SearchError> {
        let lengths = [IDLE, lengths.down, lengths.up, Delta::ZERO];
        let plan = unbloat_loadtest::Plan::of("trial", INTERVAL, lengths, &[Stack::NetworkOnly]);
        let options = Options {
            plan,
            ..self.options.clone()
        };
        let placed = rates.map(|rates| {
            let mut shaper = Plan::new(
                self.ground.device.clone(),
                rates,
                self.framing,
                self.ground.qdisc,
            )?;
            shaper.nat = self.nat;
            Ok::<_, SearchError>(self.ground.apply(&shaper)?)
        });
        let placed = placed.transpose()?;
        let finished = loadtest::trial(self.args, &options, self.stop);
        if let Some(placed) = placed {
            placed.release()?;
        }
        let verdict = finished?.verdict();
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

enum Next {
    /// Rates, and how long to load each direction.
    Trial(Both<Option<Rate>>, Both<Delta>),
    End(End),
}

/// Tries both directions in one test; a direction with a known knee keeps that rate.
fn next(knees: &Both<Option<Knee>>) -> Next {
    let (mut rates, mut lengths) = (Both::default(), Both::<Delta>::default());
    for way in Direction::BOTH {
        match knees[way].as_ref().map(Knee::asks) {
            None => {}
            Some(Asked::Knee(rate) | Asked::Tolerable { rate, .. }) => rates[way] = Some(rate),
            Some(Asked::None(why)) => return Next::End(End::None(way, why)),
            Some(Asked::Trial(rate)) => (rates[way], lengths[way]) = (Some(rate), LOADED),
        }
    }
    match lengths == Both::default() {
        true => Next::End(End::Found(rates)),
        false => Next::Trial(rates, lengths),
    }
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
        let Next::Trial(rates, lengths) = next(&knees) else {
            panic!("up is not at its end");
        };
        assert_eq!(rates, Both::new(Some(line), Some(line)));
        assert_eq!(lengths, Both::new(Delta::ZERO, LOADED));
        let Next::Trial(only_up, only_up_lengths) = next(&Both::new(None, Some(knee()))) else {
            panic!("one way is not at its end");
        };
        assert!(only_up.down.is_none() && only_up.up.is_some());
        assert_eq!(only_up_lengths, Both::new(Delta::ZERO, LOADED));
        let Next::End(End::Found(none)) = next(&Both::default()) else {
            panic!("nothing is asked");
        };
        assert_eq!(none, Both::default());
    }
}
