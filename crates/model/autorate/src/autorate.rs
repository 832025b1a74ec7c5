//! Both directions at the place of the shaper: what is seen there, and what follows.

use crate::decision::{Decision, Evidence, Reason, UnderWay};
use crate::law::cake_autorate::{self, CakeAutorate};
use crate::law::follow::{self, Follow};
use crate::meter::Meter;
use crate::pairing::{Heard, Pairing, Stamps, Tally};
use crate::passive::Passive;
use unbloat_stats::WindowedMin;
use unbloat_units::{Both, Delta, Direction, Rate, Time};

/// How rates are decided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// By what the full line carries, seen in the users' own flows.
    Follow(Both<follow::Params>),
    /// As cake-autorate does.
    CakeAutorate {
        sides: Both<cake_autorate::Params>,
        probing: Probing,
    },
}

/// What a probe tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Probing {
    /// Half of the round trip for each direction: ICMP echo, what cake-autorate does as shipped.
    #[default]
    RoundTrip,
    /// Each direction by itself: ICMP timestamps, irtt.
    OneWay,
}

impl Policy {
    pub const fn name(&self) -> &'static str {
        match self {
            Policy::Follow(_) => "follow",
            Policy::CakeAutorate { .. } => "cake_autorate",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    pub policy: Policy,
    /// Which directions are shaped.
    pub shaped: Both<bool>,
}

/// A packet as it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The same for both directions of a connection.
    pub flow: u64,
    /// At IP level.
    pub bytes: u32,
    pub stamps: Option<Stamps>,
}

/// What became of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number that the probe was sent under.
    pub number: u32,
    pub round_trip: Delta,
    /// By clocks that need not be set alike.
    pub one_way: Option<Both<Delta>>,
}

/// What is not shaped has this rate: as if there were no limit.
pub const OPEN: Rate = Rate::mbps(10_000);
/// Waits are the least within this: what only some packets met is no queue.
const WAITS: Delta = Delta::ms(30);
/// Over which loads are measured, cake-autorate's and ours, and what the line carries.
const LOAD: Delta = Delta::ms(200);
const LOAD_FOLLOWED: Delta = Delta::ms(100);
const CARRIED: Delta = Delta::ms(100);
/// What was let in longer ago is not under way.
const UNDER_WAY: Delta = Delta::secs(3);
/// How often rates are thought over.
const TICK: Delta = Delta::ms(20);
/// Of ours, a rate that differs by less is not worth a change.
const WORTH: f64 = 0.02;
/// Own probes begin when the users' flows have said nothing for this long although something is under way, and come so often.
const MUTE: Delta = Delta::ms(300);
const PROBE_EVERY: Delta = Delta::ms(100);
/// What counts as something under way, in bits per second.
const BUSY_BPS: f64 = 100_000.0;
/// TCP's payload in what the link carries: 1,448 of 1,500 bytes.
const HEADERS: f64 = 1_500.0 / 1_448.0;

fn with_headers(payload: u64) -> u64 {
    (payload as f64 * HEADERS) as u64
}

enum Law {
    Follow(Follow),
    CakeAutorate(CakeAutorate),
}

struct Side {
    direction: Direction,
    law: Law,
    is_shaped: bool,
    /// Went through the shaper.
    passed: Meter,
    /// Was delivered by the line.
    carried: Meter,
    /// Went onto the line, or was called for from beyond it.
    let_in: Meter,
    /// When the packet left whose answer is the newest, and the least round trip of its flow.
    answered: Option<(Time, Delta)>,
    waits: WindowedMin<Delta>,
    probes: WindowedMin<Delta>,
    heard: Time,
    /// Least round trips of the flows that pass, smoothed.
    round_trip: Option<Delta>,
    /// As it was last told.
    told: Option<Rate>,
}

/// Decides the rates of a shaper.
pub struct Autorate {
    params: Params,
    sides: Both<Side>,
    pairing: Pairing,
    passive: Passive,
    decisions: Vec<Decision>,
    answered: Time,
    tick_at: Time,
    probe_at: Time,
    probes: u32,
}

impl Autorate {
    pub fn new(params: Params, start: Time) -> Autorate {
        Autorate {
            sides: Both::of(|direction| Side::new(&params, direction, start)),
            params,
            pairing: Pairing::default(),
            passive: Passive::new(),
            decisions: Vec::new(),
            answered: start,
            tick_at: start,
            probe_at: start,
            probes: 0,
        }
    }

    /// The rate of a direction; none: not shaped yet.
    pub fn rate(&self, direction: Direction) -> Option<Rate> {
        self.sides[direction].told
    }

    /// A packet leaves the shaper for the line.
    pub fn outgoing(&mut self, now: Time, seen: &Seen) {
        let tally = self.pairing.outgoing(now, seen);
        self.passed(now, &tally);
    }

    /// A packet comes from the line, and is still before the shaper.
    pub fn incoming(&mut self, now: Time, seen: &Seen) {
        let (tally, heard) = self.pairing.incoming(now, seen);
        self.passed(now, &tally);
        if let Some(heard) = heard {
            self.heard(now, &heard);
        }
    }

    /// What passed from `now` on, both ways, as somebody else counted it: instead of [`Autorate::outgoing`] and
    /// [`Autorate::incoming`], together with [`Autorate::heard`].
    pub fn passed(&mut self, now: Time, tally: &Tally) {
        let Both { down, up } = &mut self.sides;
        if tally.left > 0 {
            up.passed.add(now, tally.left);
            up.let_in.add(now, tally.left);
        }
        if tally.left > tally.unanswered {
            down.let_in.add(now, with_headers(tally.called_for));
        }
        // Nobody acknowledges it to our eyes: taken as delivered.
        if tally.unanswered > 0 {
            up.carried.add(now, tally.unanswered);
        }
        if tally.came > 0 {
            down.carried.add(now, tally.came);
        }
        if tally.acked > 0 {
            up.carried.add(now, with_headers(tally.acked));
        }
    }

    /// What a packet from the line told.
    pub fn heard(&mut self, now: Time, heard: &Heard) {
        let usual = self.usual_waits(now);
        let Both { down, up } = &mut self.sides;
        let reading = self.passive.heard(now, heard, usual);
        down.waited(now, reading.down);
        up.waited(now, reading.up);
        if let (Some(least), Some(left)) = (reading.least, heard.sent) {
            let least = least + down.longer() + up.longer();
            down.met(least, left);
            up.met(least, left);
        }
    }

    /// A packet from the line has gone through the shaper, or several.
    pub fn shaped(&mut self, now: Time, bytes: u32) {
        self.sides.down.passed.add(now, bytes.into());
    }

    fn usual_waits(&mut self, now: Time) -> Both<Delta> {
        self.sides
            .as_mut()
            .map(|side| side.waits.at(now).unwrap_or(Delta::ZERO))
    }

    /// When the next probe is due, if one is wanted.
    pub fn probe_at(&self) -> Time {
        self.probe_at
    }

    /// Whether a probe is to be sent now that the time has come; its number.
    pub fn probe(&mut self, now: Time) -> Option<u32> {
        let every = match self.params.policy {
            Policy::CakeAutorate { .. } => cake_autorate::EVERY,
            Policy::Follow(_) => PROBE_EVERY,
        };
        self.probe_at = now + every;
        let wanted = match self.params.policy {
            Policy::CakeAutorate { .. } => true,
            Policy::Follow(_) => self.sides.iter_mut().any(|side| side.is_mute(now)),
        };
        wanted.then(|| {
            self.probes = self.probes.wrapping_add(1);
            self.probes
        })
    }

    /// A probe was answered.
    pub fn answered(&mut self, now: Time, answer: &Answer) {
        self.answered = now;
        let one_way = match (self.params.policy, answer.one_way) {
            (
                Policy::CakeAutorate {
                    probing: Probing::OneWay,
                    ..
                }
                | Policy::Follow(_),
                Some(both),
            ) => both,
            _ => Both::of(|_| answer.round_trip / 2),
        };
        for (side, delay) in self.sides.iter_mut().zip(one_way) {
            let decision = side.probed(now, answer.number, delay);
            self.decisions.extend(decision);
        }
    }

    /// When [`Autorate::tick`] is due.
    pub fn tick_at(&self) -> Time {
        self.tick_at
    }

    /// Thinks it over.
    pub fn tick(&mut self, now: Time) {
        self.tick_at = now + TICK;
        let is_silent = now.since(self.answered) > cake_autorate::SILENCE;
        for side in &mut self.sides {
            let decision = side.tick(now, is_silent);
            self.decisions.extend(decision);
        }
    }

    /// What was decided since the last call.
    pub fn decisions(&mut self) -> impl Iterator<Item = Decision> + '_ {
        self.decisions.drain(..)
    }
}

impl Side {
    fn new(params: &Params, direction: Direction, start: Time) -> Side {
        let law = match params.policy {
            Policy::Follow(sides) => Law::Follow(Follow::new(sides[direction])),
            Policy::CakeAutorate { sides, .. } => {
                Law::CakeAutorate(CakeAutorate::new(sides[direction], start))
            }
        };
        let load = match &law {
            Law::Follow(_) => LOAD_FOLLOWED,
            Law::CakeAutorate(_) => LOAD,
        };
        let mut side = Side {
            direction,
            law,
            is_shaped: params.shaped[direction],
            passed: Meter::new(load),
            carried: Meter::new(CARRIED),
            let_in: Meter::new(UNDER_WAY),
            answered: None,
            waits: WindowedMin::new(WAITS),
            probes: WindowedMin::new(Delta::secs(30)),
            heard: start,
            round_trip: None,
            told: None,
        };
        side.told = side.rate().filter(|_| side.is_shaped);
        side
    }

    fn rate(&self) -> Option<Rate> {
        match &self.law {
            Law::Follow(law) => law.rate(),
            Law::CakeAutorate(law) => Some(law.rate()),
        }
    }

    fn waited(&mut self, now: Time, wait: Option<Delta>) {
        if let Some(wait) = wait {
            self.waits.push(now, wait);
            self.heard = now;
        }
    }

    /// A packet that left at a time was answered; its flow's least round trip.
    fn met(&mut self, least: Delta, left: Time) {
        if self.answered.is_none_or(|(newest, _)| newest <= left) {
            self.answered = Some((left, least));
        }
        let known = self.round_trip.unwrap_or(least);
        self.round_trip = Some(known + (least - known) / 8);
    }

    /// By how much the path is longer than the least delays of its flows.
    fn longer(&self) -> Delta {
        match &self.law {
            Law::Follow(law) => law.longer(),
            Law::CakeAutorate(_) => Delta::ZERO,
        }
    }

    fn load(&mut self, now: Time) -> f64 {
        let passed = self.passed.bps(now);
        self.rate()
            .map_or(0.0, |rate| passed / rate.as_bps_f64().max(1.0))
    }

    /// Whether something is under way and nothing is known of how long it waits.
    fn is_mute(&mut self, now: Time) -> bool {
        self.is_shaped
            && now.since(self.heard) > MUTE
            && self.passed.bps(now).max(self.carried.bps(now)) > BUSY_BPS
    }

    fn probed(&mut self, now: Time, number: u32, delay: Delta) -> Option<Decision> {
        let load = self.load(now);
        match &mut self.law {
            Law::Follow(_) => {
                let least = self.probes.push(now, delay);
                self.waits.push(now, delay - least);
                None
            }
            Law::CakeAutorate(law) => {
                let reason = law.answered(now, number, delay, load)?;
                self.decide(now, reason)
            }
        }
    }

    fn tick(&mut self, now: Time, is_silent: bool) -> Option<Decision> {
        let evidence = self.evidence(now);
        let reason = match &mut self.law {
            Law::Follow(law) => law.tick(now, &evidence, self.round_trip)?,
            Law::CakeAutorate(law) => is_silent.then(|| law.silent()).flatten()?,
        };
        self.decide(now, reason)
    }

    fn evidence(&mut self, now: Time) -> Evidence {
        let load = self.load(now);
        let (delay, threshold) = match &self.law {
            Law::Follow(law) => {
                let wait = self.waits.at(now);
                (wait.map(|wait| wait - law.longer()), law.threshold())
            }
            Law::CakeAutorate(law) => (Some(law.average()), law.threshold()),
        };
        let carried = match delay {
            // What came within `WAITS` waited so long at least, and what came before it kept the line busy meanwhile.
            Some(delay) if delay > threshold => self.carried.busy_bps(now, WAITS + delay),
            _ => self.carried.bps(now),
        };
        let under_way = self.answered.map(|(left, least)| UnderWay {
            bytes: self.let_in.since(left),
            is_counted: self.direction == Direction::Up,
            least,
        });
        Evidence {
            delay,
            threshold,
            carried: Rate::from_bps_f64(carried),
            load,
            under_way,
        }
    }

    /// Tells of the law's rate if it is worth a change.
    fn decide(&mut self, now: Time, reason: Reason) -> Option<Decision> {
        if !self.is_shaped {
            return None;
        }
        let after = self.rate().unwrap_or(OPEN);
        let before = self.told;
        let least = match self.law {
            Law::Follow(_) => WORTH,
            Law::CakeAutorate(_) => f64::MIN_POSITIVE,
        };
        let is_worth = before.is_none_or(|before| {
            (after.as_bps_f64() / before.as_bps_f64().max(1.0) - 1.0).abs() >= least
        });
        is_worth.then(|| {
            self.told = Some(after);
            let seen = self.evidence(now);
            let delay = seen.delay.map(|delay| delay.max(Delta::ZERO));
            Decision {
                at: now,
                direction: self.direction,
                before,
                after,
                reason,
                evidence: Evidence { delay, ..seen },
            }
        })
    }
}
