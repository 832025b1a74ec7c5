//! From what was measured to what it means: no sockets, no clocks.
//!
//! # What counts as loaded
//!
//! A stage begins with connections that start and a queue that fills. Judged is what comes after: from when the delivered rate has first reached
//! nine tenths of what it reaches at its best (90th percentile of quarter seconds), but not before three tenths of the stage
//! and not after half of it. Responsiveness has its own rule, the draft's: the last MAD intervals.

mod causes;
mod curves;
mod echoes;
pub(crate) mod flight;
mod goodput;
mod interface;
mod responsiveness;
mod stalls;
mod views;
mod witness;

use crate::measured::{Counter, FlowRun, Measured, StageRun};
use crate::options::Http;
use crate::place::{self, OwnAddresses};
use crate::plan::{Load, Plan, Stack, alone};
pub(crate) use curves::Curves;
use echoes::Still;
pub use echoes::{EchoAccount, Standing};
use stalls::Stall;
use tracing::info;
use unbloat_responsiveness::{
    Added, Cause, Checks, Confidence, Distrust, Doubt, Facts, LoadChecks, LoadedDirection, Mark,
    Means, Params, Passed, Rpm, Rule, Samples, ServerGone, Split, StackView, Stalled, Verdict,
    distrust, grade, is_steady, line_rate, verdict,
};
use unbloat_units::{Both, Bytes, Delta, Direction, Rate, Time};
use witness::StandIn;

/// What a test found.
#[derive(Clone, Debug)]
pub struct Findings {
    pub idle: Idle,
    /// Of each stage with load, in the order of the stages.
    pub loads: Vec<LoadFindings>,
    /// What waits where, for each direction that was loaded alone.
    pub splits: Vec<(Direction, Split)>,
    pub rule: Rule,
    pub marks: Vec<Mark>,
    /// What else than a queue in the loaded direction made delay, or kept load small.
    pub causes: Vec<Cause>,
    pub distrust: Vec<Distrust>,
    /// What localisation said of each load, if it ran.
    pub located: Vec<unbloat_locate::Verdict>,
    /// What all of it comes to.
    pub verdict: Verdict,
}

/// The path at rest.
#[derive(Clone, Debug, Default)]
pub struct Idle {
    /// Quantiles 0.5, 0.95, 0.99 of the round trip.
    pub rtt: Option<[Delta; 3]>,
    /// Mean difference of successive round trips.
    pub jitter: Option<Delta>,
    pub account: EchoAccount,
    /// Part of the time for which it is known what became of datagrams.
    pub coverage: Option<f64>,
    /// Medians of round trips by kind of probe; the least of each where the path was not idle.
    pub view: StackView,
    /// The round trip of an empty path: the median, or the least of the whole test where the path was not idle.
    pub base_rtt: Option<Delta>,
    /// By how much nearly all packets were later than the least of the whole test.
    pub standing: Standing,
}

/// One loaded stage.
#[derive(Clone, Debug)]
pub struct LoadFindings {
    /// Its number in [`Measured::stages`].
    pub stage: usize,
    pub load: Load,
    pub stack: Stack,
    /// What is judged.
    pub from: Time,
    pub to: Time,
    /// What the path carried, bytes behind holes and duplicates included.
    pub delivered: Both<Option<Rate>>,
    pub delivered_by: Both<Option<Counter>>,
    /// What of it receiving applications got: in order.
    pub goodput: Both<Option<Rate>>,
    pub goodput_by: Both<Option<Counter>>,
    /// Of delivered rates of seconds: what lies between a tenth and nine tenths of them, by their median.
    pub spread: Both<Option<f64>>,
    /// The same of half seconds in which a queue stood.
    pub spread_full: Both<Option<f64>>,
    /// Of datagrams, one way.
    pub added: Both<Option<Added>>,
    /// There and back.
    pub added_rtt: Option<Added>,
    pub account: EchoAccount,
    /// Part of the judged time for which it is known what became of datagrams.
    pub coverage: Option<f64>,
    pub rpm: Option<Rpm>,
    pub rpm_legacy: Option<Rpm>,
    pub means: Option<Means>,
    pub confidence: Confidence,
    pub is_saturated: bool,
    /// What load added to each kind of round trip.
    pub view: StackView,
    pub flows: usize,
    /// All that passed this host's interface, of other programs and framing included; up, what is dropped later counts as well.
    pub interface: Both<Option<Rate>>,
    pub failed: usize,
    /// Share of the senders' busy time for which windows held them back.
    pub held_back: Option<f64>,
    /// Sent and not acknowledged, of all load connections of a direction together: medians.
    pub in_flight: Both<Option<Bytes>>,
}

/// Concludes, with marks by `rule`.
pub fn findings(measured: &Measured, rule: Rule) -> Findings {
    let (stand_in, with) = StandIn::of(measured);
    let measured = with.as_ref().unwrap_or(measured);
    let stalls = stalls::find(measured);
    match stalls.is_empty() {
        true => conclude((measured, &stalls), &stand_in, rule),
        false => {
            let kept = stalls::without(measured, &stalls);
            conclude((&kept, &stalls), &stand_in, rule)
        }
    }
}

/// From what was seen while no program stood still.
fn conclude((measured, stalls): (&Measured, &[Stall]), stand_in: &StandIn, rule: Rule) -> Findings {
    let idle = idle(measured, stalls);
    let stages = measured.stages.iter().enumerate();
    let loaded = stages.filter(|(_, stage)| stage.load != Load::Idle && !stage.is_cut);
    let mut loads: Vec<LoadFindings> = loaded
        .map(|(i, stage)| load((measured, stalls), &idle, i, stage))
        .collect();
    // A probe that is late by itself waits in no place of the path.
    let splits = match stand_in.odd.is_empty() {
        true => splits(&loads),
        false => Vec::new(),
    };
    let checks = Checks {
        standing_in: stand_in.told,
        odd: stand_in.odd.clone(),
        ..checks((measured, stalls), &idle, &loads)
    };
    let reasons = distrust(&checks);
    for found in &mut loads {
        found.confidence = stand_in.confidence(found.confidence);
    }
    let mut directions = directions((measured, &idle), &loads, &splits);
    if measured.server.http == Some(Http::Three) {
        // What waits in senders is cured by options of TCP's sockets, which QUIC does not have.
        directions.iter_mut().for_each(|one| one.unsent = None);
    }
    let causes = causes::find(measured, &idle, &loads);
    let is_starved = causes
        .iter()
        .any(|cause| matches!(cause, Cause::StarvedAcks { .. }));
    let downloads = directions
        .iter_mut()
        .filter(|one| one.direction == Direction::Down);
    downloads.for_each(|one| one.is_starved = is_starved);
    let doubts = reasons.iter().map(Doubt::from);
    let verdict = verdict(directions, causes::doubts(&causes).chain(doubts).collect());
    for doubt in &verdict.doubts {
        info!(is_fatal = doubt.is_fatal, reason = doubt.reason, "doubt");
    }
    info!(
        is_valid = verdict.grade.is_some(),
        headline = verdict.headline,
        "verdict"
    );
    // What says nothing has no grade by anybody's rule.
    let is_graded = verdict.grade.is_some();
    let marks = is_graded.then(|| grade(rule, &facts(&idle, &loads)));
    Findings {
        marks: marks.unwrap_or_default(),
        located: Vec::new(),
        verdict,
        causes,
        distrust: reasons,
        idle,
        loads,
        splits,
        rule,
    }
}

fn of(loads: &[LoadFindings], direction: Direction) -> Option<&LoadFindings> {
    let alone = alone(direction);
    let mut stages = loads.iter().filter(move |found| found.load == alone);
    let first = stages.clone().next();
    stages
        .find(|found| found.stack == Stack::NetworkOnly)
        .or(first)
}

impl Findings {
    /// The stage that loads this direction alone; with senders held short, if there is such a one.
    pub fn of(&self, direction: Direction) -> Option<&LoadFindings> {
        of(&self.loads, direction)
    }

    /// Takes what localisation found during the same loads into verdict and advice.
    pub fn locate(&mut self, located: Vec<unbloat_locate::Verdict>, own: OwnAddresses) {
        let Verdict {
            mut directions,
            doubts,
            ..
        } = self.verdict.clone();
        for load in &mut directions {
            let phase = match load.direction {
                Direction::Down => unbloat_locate::Phase::Down,
                Direction::Up => unbloat_locate::Phase::Up,
            };
            let found = located.iter().find(|verdict| verdict.load == phase);
            load.located = found.and_then(|found| place::located(found, own));
        }
        self.verdict = verdict(directions, doubts);
        self.located = located;
    }

    /// The test ran behind a shaper of this host, of such rates as far as they are known; `words` say whose.
    pub fn behind(&mut self, shaped: Both<Option<Rate>>, words: &str) {
        let Verdict {
            mut directions,
            mut doubts,
            ..
        } = self.verdict.clone();
        let is_known = shaped != Both::default();
        for load in &mut directions {
            let rate = shaped[load.direction];
            if rate.is_some() || !is_known {
                load.behind(rate);
            }
        }
        doubts.push(Doubt {
            is_fatal: false,
            reason: format!("{words} shapes this host's traffic: the test tells what is left behind that shaper, and of the line only that it carries as much"),
        });
        self.verdict = verdict(directions, doubts);
    }

    /// The worst stage's.
    pub fn confidence(&self) -> Option<Confidence> {
        self.loads.iter().map(|found| found.confidence).min()
    }
}

impl Idle {
    /// Where the path was not idle, and how much there was; of the round trip only where no direction tells.
    fn standing_by_direction(&self) -> Vec<(Option<Direction>, Delta)> {
        let Standing {
            one_way,
            round_trip,
        } = self.standing;
        let known = one_way
            .entries()
            .filter_map(|(way, late)| Some((Some(way), (*late)?)));
        let known: Vec<_> = known.collect();
        match known.is_empty() {
            true => round_trip.map(|late| (None, late)).into_iter().collect(),
            false => known,
        }
    }
}

impl LoadFindings {
    /// What this load makes others wait, there and back. A queue that stood in the other direction before is not of its making: then that of its own direction.
    pub fn made(&self, idle: &Idle) -> Option<&Added> {
        let ways = Direction::BOTH.into_iter();
        let mut loaded = ways.filter(|way| alone(*way) == self.load);
        let own = loaded.next().filter(|way| {
            let other = match way {
                Direction::Down => Direction::Up,
                Direction::Up => Direction::Down,
            };
            idle.standing.one_way[other].is_some()
        });
        own.and_then(|way| self.added[way].as_ref())
            .or(self.added_rtt.as_ref())
    }

    /// What the load added to the delay of that direction: one way if that is known, else there and back.
    pub fn added_of(&self, direction: Direction) -> Option<&Added> {
        self.added[direction].as_ref().or(self.added_rtt.as_ref())
    }
}

impl LoadFindings {
    /// Load connections of a loaded direction: stages of both directions have as many of each.
    pub fn flows_of(&self, direction: Direction) -> Option<u64> {
        let directions = Direction::BOTH.into_iter();
        let loaded = directions.filter(|one| self.load.has(*one)).count() as u64;
        let is_loaded = self.load.has(direction) && self.flows > 0;
        is_loaded.then(|| (self.flows as u64 / loaded).max(1))
    }

    /// The path carried about the same all the time.
    pub fn is_steady(&self, direction: Direction) -> bool {
        is_steady(self.spread_full[direction], self.spread[direction]).unwrap_or(self.is_saturated)
    }
}

impl Plan {
    /// The draft's parameters with this plan's interval.
    pub fn params(&self) -> Params {
        Params {
            interval: self.interval,
            ..Params::default()
        }
    }
}

fn idle(measured: &Measured, stalls: &[Stall]) -> Idle {
    let Some(stage) = measured
        .stages
        .iter()
        .find(|stage| stage.load == Load::Idle)
    else {
        return Idle::default();
    };
    let span = (stage.begin, stage.end);
    let standing = Still::of(measured, span).standing;
    let is_loaded = standing.is_any();
    let mut view = match is_loaded {
        false => views::medians(measured, span, None),
        true => views::least(measured),
    };
    view.tcp = view.tcp.or_else(|| views::least_tcp(measured));
    let rtt = echoes::rtt_quantiles(measured, span);
    let median = rtt.map(|[p50, ..]| p50);
    Idle {
        rtt,
        base_rtt: match is_loaded {
            false => median,
            true => echoes::floor(measured),
        },
        standing,
        jitter: echoes::jitter(measured, span),
        account: echoes::account(measured, span),
        coverage: echoes::coverage(measured, stalls, span),
        view,
    }
}

fn load(
    (measured, stalls): (&Measured, &[Stall]),
    idle: &Idle,
    number: usize,
    stage: &StageRun,
) -> LoadFindings {
    let from = goodput::loaded_from(measured, number, stage);
    let span = (from, stage.end);
    let quiet = measured
        .stages
        .iter()
        .find(|other| other.load == Load::Idle);
    let still = quiet.map(|other| Still::of(measured, (other.begin, other.end)));
    let of_stage = measured.flows.iter().filter(|flow| flow.stage == number);
    let carried = Both::of(|direction| {
        let is_loaded = stage.load.has(direction);
        is_loaded
            .then(|| goodput::over((measured, stalls), number, direction, span))
            .flatten()
    });
    let responded = responsiveness::of(measured, number, stage);
    let medians = views::medians(measured, span, Some(number));
    LoadFindings {
        stage: number,
        load: stage.load,
        stack: stage.stack,
        from,
        to: stage.end,
        delivered: carried.map(|found| found.map(|found| found.delivered)),
        delivered_by: carried.map(|found| found.map(|found| found.delivered_by)),
        goodput: carried.map(|found| found.map(|found| found.goodput)),
        goodput_by: carried.map(|found| found.map(|found| found.goodput_by)),
        spread: carried.map(|found| found?.spread),
        spread_full: carried.map(|found| found?.spread_full),
        added: Both::of(|direction| echoes::added_one_way(measured, still, span, direction)),
        added_rtt: echoes::added_rtt(measured, still, span),
        account: echoes::account(measured, span),
        coverage: echoes::coverage(measured, stalls, span),
        rpm: responded.rpm,
        rpm_legacy: responded.legacy,
        means: responded.means,
        confidence: responded.confidence,
        is_saturated: responded.is_saturated,
        view: views::less(&medians, &idle.view),
        flows: of_stage.clone().count(),
        interface: Both::of(|direction| interface::rate(measured, direction, span)),
        failed: of_stage.filter(|flow| flow.failure.is_some()).count(),
        held_back: views::held_back(measured, number, stage.stack),
        in_flight: Both::of(|direction| flight::median(measured, number, direction, span)),
    }
}

/// As the stacks are against network only, where both were run; else what one run tells.
fn splits(loads: &[LoadFindings]) -> Vec<(Direction, Split)> {
    let of = |direction, stack| {
        let load = alone(direction);
        loads
            .iter()
            .find(|found| found.load == load && found.stack == stack)
            .map(|found| &found.view)
    };
    let split = |direction: Direction| {
        let (as_is, bare) = (
            of(direction, Stack::AsIs),
            of(direction, Stack::NetworkOnly),
        );
        let split = match (as_is, bare) {
            (Some(as_is), bare) => Split::of(as_is, bare),
            (None, Some(bare)) => Split::of_network_only(bare),
            (None, None) => None,
        };
        Some((direction, split?))
    };
    Direction::BOTH.into_iter().filter_map(split).collect()
}

/// Times in which a program stood still, of what is judged.
fn stalled(measured: &Measured, stalls: &[Stall], loads: &[LoadFindings]) -> Vec<Stalled> {
    let mut stages = measured.stages.iter();
    let quiet = stages.find(|stage| stage.load == Load::Idle);
    let quiet = quiet.map(|stage| (stage.load, stage.begin, stage.end));
    let judged = loads.iter().map(|found| (found.load, found.from, found.to));
    let judged = quiet.into_iter().chain(judged);
    let of = |(load, from, to): (Load, Time, Time)| {
        let within = stalls
            .iter()
            .filter(move |stall| stall.from < to && stall.to > from);
        let left = stalls::outside(stalls, (from, to), Delta::ZERO).into_iter();
        let left = left.fold(Delta::ZERO, |sum, part| sum + part.1.since(part.0));
        let share = 1.0 - left.as_secs() / to.since(from).as_secs().max(1e-9);
        within.map(move |stall| Stalled {
            share,
            stage: load.name(),
            at: stall.from.since(Time::from_ns(0)),
            lasted: stall.to.since(stall.from),
            is_server: stall.is_server,
        })
    };
    judged.flat_map(of).collect()
}

fn checks(
    (measured, stalls): (&Measured, &[Stall]),
    idle: &Idle,
    loads: &[LoadFindings],
) -> Checks {
    let hosts = || measured.stages.iter().map(|stage| stage.host);
    let most = |share: fn(&crate::measured::HostLoad) -> Option<f64>| {
        hosts().filter_map(|host| share(&host)).reduce(f64::max)
    };
    /// The longest flight of a probe's handshake: three full packets.
    const FLIGHT_BITS: f64 = 36_000.0;
    let alone = |way| of(loads, way)?.delivered[way];
    let slower = Direction::BOTH.into_iter().filter_map(alone).min();
    let has_echo = measured.server.echo.is_some();
    let idle_samples = samples(has_echo || !measured.echoes.is_empty(), &idle.account);
    Checks {
        cpu_busy: most(|host| host.busy),
        cpu_stolen: most(|host| host.stolen),
        coverage: coverage(idle, loads),
        clock_error: measured.clocks.map(|clocks| clocks.error),
        clock_failed: has_echo && measured.clocks.is_none(),
        idle_spread: idle.rtt.map(|[p50, p95, _]| p95 - p50),
        idle_own: slower.map(|rate| Delta::from_secs_f64(FLIGHT_BITS / rate.as_bps_f64().max(1.0))),
        idle_samples,
        stalls: stalled(measured, stalls, loads),
        idle_standing: idle.standing_by_direction(),
        foreign: Both::of(|direction| interface::foreign(measured, direction)),
        loads: loads
            .iter()
            .flat_map(|found| load_checks(measured, found))
            .collect(),
        echoless: measured.server.echoless,
        standing_in: None,
        odd: Vec::new(),
        is_cut: measured.is_cut,
        gone: measured.gone.map(|gone| ServerGone {
            at: gone.at.since(Time::from_ns(0)),
            how: gone.how,
            is_all: loads.is_empty(),
        }),
    }
}

/// Probes of HTTP are few by design; without datagrams nothing is said of their number.
fn samples(has_echo: bool, account: &EchoAccount) -> Samples {
    let counted = Samples {
        back: account.back as usize,
        sent: account.sent as usize,
    };
    if has_echo {
        counted
    } else {
        Samples::UNCOUNTED
    }
}

/// Of every stage that is judged, by name.
fn coverage(idle: &Idle, loads: &[LoadFindings]) -> Vec<(&'static str, f64)> {
    let idle = idle.coverage.map(|known| (Load::Idle.name(), known));
    let loads = loads.iter();
    let loads = loads.filter_map(|found| Some((found.load.name(), found.coverage?)));
    idle.into_iter().chain(loads).collect()
}

/// What ends so shortly before a stage did not make it less loaded: a server that goes away ends both.
const SIMULTANEOUS: Delta = Delta::ms(200);

fn load_checks(measured: &Measured, found: &LoadFindings) -> Vec<LoadChecks> {
    let has_echo = measured.server.echo.is_some() || !measured.echoes.is_empty();
    let is_early = |flow: &FlowRun| {
        let is_before = flow.end + SIMULTANEOUS < measured.stages[found.stage].end;
        flow.failure.is_some() && is_before
    };
    let added = found.added_rtt.as_ref();
    let round_trip = added.map(|added| added.baseline + added.mean.value);
    let one = |direction| {
        let flows = measured
            .flows
            .iter()
            .filter(|flow| flow.stage == found.stage && flow.direction == direction);
        LoadChecks {
            direction,
            is_saturated: found.is_saturated,
            is_stable: found.rpm.map(|_| found.confidence == Confidence::High),
            flows: flows.clone().count(),
            failed: flows.filter(|flow| is_early(flow)).count(),
            on_the_way: round_trip.and_then(|rtt| Some(found.delivered[direction]? * rtt)),
            samples: samples(has_echo, &found.account),
            lost: found.account.loss()[direction],
            held_back: found.held_back,
        }
    };
    // Stages of both directions tell of each of them once more.
    let alone = Direction::BOTH
        .into_iter()
        .filter(|&direction| alone(direction) == found.load);
    alone.map(one).collect()
}

fn facts(idle: &Idle, loads: &[LoadFindings]) -> Facts {
    let of = |load: Load| {
        let mut found = loads.iter().filter(move |found| found.load == load);
        let first = found.clone().next();
        found
            .find(|found| found.stack == Stack::NetworkOnly)
            .or(first)
    };
    let [down, up, both] = [Load::Down, Load::Up, Load::Both].map(of);
    let added = |found: Option<&LoadFindings>| Some(found?.made(idle)?.mean.value);
    let rpm = |found: Option<&LoadFindings>| found?.rpm;
    Facts {
        added_down: added(down),
        added_up: added(up),
        rpm_down: rpm(down),
        rpm_up: rpm(up),
        rpm_both: rpm(both),
    }
}

fn directions(
    (measured, idle): (&Measured, &Idle),
    loads: &[LoadFindings],
    splits: &[(Direction, Split)],
) -> Vec<LoadedDirection> {
    let one = |direction: Direction| {
        let found = of(loads, direction)?;
        let delivered = found.delivered[direction]?;
        let passed = Passed {
            loaded: found.interface[direction],
            idle: interface::idle_rate(measured, direction),
            probes: interface::probes(measured, (found.from, found.to)),
            foreign: interface::foreign(measured, direction),
            is_shared: idle.standing.one_way[direction].is_some(),
        };
        let mut split = splits.iter().filter(|(of, _)| *of == direction);
        Some(LoadedDirection {
            direction,
            delivered,
            line: line_rate(direction, delivered, passed),
            is_steady: found.is_steady(direction),
            added: found.made(idle)?.mean.value,
            added_p95: found.added_of(direction)?.p95.value,
            idle_rtt: idle.base_rtt.unwrap_or(Delta::ZERO),
            unsent: split
                .next()
                .and_then(|(_, split)| Some(split.sockets?.delay)),
            is_starved: false,
            located: None,
        })
    };
    Direction::BOTH.into_iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::downloaded as sample;
