//! The loop: what passes is told, what follows is done.

use crate::clock;
use crate::error::SteerError;
use crate::pinger::Pinger;
use crate::qdisc::{Lend, Shaper, State};
use crate::tap::{Source, Tap};
use std::collections::VecDeque;
use std::io::Write;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::{debug, info};
use unbloat_autorate::{Answer, Autorate, Decision, OPEN, Params, Policy};
use unbloat_units::{Both, Delta, Direction, Rate, Time};

/// What is watched, and what is changed by it.
#[derive(Clone, Debug)]
pub struct Options {
    /// The interface towards the line.
    pub interface: String,
    /// None leaves a direction alone.
    pub shapers: Both<Option<Shaper>>,
    pub policy: Policy,
    /// Where packets are looked at; none: in the kernel if it can, else here.
    pub source: Option<Source>,
    /// Who answers probes, in turns; none are sent without.
    pub reflectors: Vec<Ipv4Addr>,
    /// Decides and tells, and changes nothing.
    pub dry_run: bool,
}

/// Rates of shapers, followed as long as this runs.
pub struct Steer<'a> {
    tap: Tap,
    pinger: Option<Pinger>,
    autorate: Autorate,
    shapers: Both<Option<Shaper>>,
    lend: Lend<'a>,
    /// What the kernel was told last, and when.
    told: Both<Option<(Rate, Time)>>,
    /// What the kernel had of the shapers after that.
    states: Both<Option<State>>,
    look_at: Time,
    sent: VecDeque<(u16, Time)>,
}

/// `tc` is not called more often for one direction.
const CALM: Delta = Delta::ms(100);
/// How often is looked whether the shapers are still as they were told to be.
const LOOK: Delta = Delta::secs(1);
/// Answers to probes older than these are nobody's.
const PROBES: usize = 256;

impl<'a> Steer<'a> {
    pub fn start(options: &Options, lend: Lend<'a>) -> Result<Steer<'a>, SteerError> {
        let params = Params {
            policy: options.policy,
            shaped: options.shapers.as_ref().map(Option::is_some),
        };
        let pinger = match &options.reflectors[..] {
            [] => None,
            some => Some(Pinger::open(some.to_vec(), clock::now)?),
        };
        let shapers = match options.dry_run {
            true => Both::default(),
            false => options.shapers.clone(),
        };
        info!(
            interface = options.interface,
            policy = ?options.policy,
            probes = options.reflectors.len(),
            dry_run = options.dry_run,
            "following the line"
        );
        let mut steer = Steer {
            tap: Tap::open(&options.interface, options.source)?,
            pinger,
            autorate: Autorate::new(params, clock::now()),
            shapers,
            lend,
            told: Both::default(),
            states: Both::default(),
            look_at: clock::now() + LOOK,
            sent: VecDeque::new(),
        };
        for direction in Direction::BOTH {
            let rate = steer.autorate.rate(direction).unwrap_or(OPEN);
            steer.set(direction, rate)?;
        }
        Ok(steer)
    }

    pub fn tap(&self) -> &Tap {
        &self.tap
    }

    /// Follows the line until `stop`; tells each decision.
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&Decision),
    ) -> Result<(), SteerError> {
        while !stop.load(Ordering::Relaxed) {
            self.tap.tell(&mut self.autorate)?;
            let now = clock::now();
            self.probe(now)?;
            if now >= self.autorate.tick_at() {
                self.autorate.tick(now);
            }
            for decision in self.autorate.decisions() {
                debug!(
                    direction = decision.direction.name(),
                    before_bps = decision.before.map(Rate::as_bps),
                    after_bps = decision.after.as_bps(),
                    reason = ?decision.reason,
                    "decision"
                );
                tell(&decision);
            }
            if now >= self.look_at {
                self.look_at = now + LOOK;
                self.look()?;
            }
            self.set_rates(now)?;
        }
        Ok(())
    }

    fn probe(&mut self, now: Time) -> Result<(), SteerError> {
        let Some(pinger) = &self.pinger else {
            return Ok(());
        };
        for reply in pinger.replies() {
            let mut all = self.sent.iter();
            let at = all.position(|(number, _)| *number == reply.number);
            // Each is answered once.
            if let Some((number, sent)) = at.and_then(|at| self.sent.remove(at)) {
                let answer = Answer {
                    number: number.into(),
                    round_trip: reply.at.since(sent),
                    one_way: None,
                };
                self.autorate.answered(now, &answer);
            }
        }
        if now >= self.autorate.probe_at()
            && let Some(number) = self.autorate.probe(now)
        {
            if self.sent.len() == PROBES {
                self.sent.pop_front();
            }
            self.sent.push_back((number as u16, clock::now()));
            pinger.send(number)?;
        }
        Ok(())
    }

    fn set_rates(&mut self, now: Time) -> Result<(), SteerError> {
        for direction in Direction::BOTH {
            let Some(rate) = self.autorate.rate(direction) else {
                continue;
            };
            let is_due =
                self.told[direction].is_none_or(|(told, at)| told != rate && now.since(at) >= CALM);
            if is_due {
                self.set(direction, rate)?;
                self.told[direction] = Some((rate, now));
            }
        }
        Ok(())
    }
}

impl Steer<'_> {
    fn set(&mut self, direction: Direction, rate: Rate) -> Result<(), SteerError> {
        if let Some(shaper) = &self.shapers[direction] {
            shaper.set(rate, self.lend)?;
            self.states[direction] = shaper.state()?;
        }
        Ok(())
    }

    /// A shaper that somebody else has changed is theirs: it is not restored.
    fn look(&mut self) -> Result<(), SteerError> {
        for direction in Direction::BOTH {
            if let Some(shaper) = &self.shapers[direction]
                && shaper.state()? != self.states[direction]
            {
                let device = shaper.device().to_owned();
                self.shapers[direction] = None;
                return Err(SteerError::Changed { device });
            }
        }
        Ok(())
    }
}

/// Shapers are as they were found.
impl Drop for Steer<'_> {
    fn drop(&mut self) {
        for shaper in self.shapers.iter().flatten() {
            info!(device = shaper.device(), "restoring the shaper's rate");
            if let Err(error) = shaper.restore(self.lend) {
                // A panic here would be one within a drop; who reads may be gone.
                let _ = writeln!(
                    std::io::stderr(),
                    "unbloat: cannot restore the rate of {}: {error}",
                    shaper.device()
                );
            }
        }
    }
}
