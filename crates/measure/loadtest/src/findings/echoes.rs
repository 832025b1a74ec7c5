//! Datagrams: what load added to their delay, and what became of them.

use super::stalls::{Stall, outside};
use crate::measured::{Echo, Fate, Measured};
use unbloat_responsiveness::{Added, Baseline, Sample, Series, Spread, added, quantile, standing};
use unbloat_units::{Both, Delta, Direction, Time};

type Span = (Time, Time);

/// What became of the datagrams of a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EchoAccount {
    pub sent: u64,
    pub back: u64,
    pub lost_up: u64,
    pub lost_down: u64,
    /// In a direction that nobody tells.
    pub lost: u64,
    pub reordered_up: u64,
    pub reordered_down: u64,
    pub duplicates: u64,
}

impl EchoAccount {
    /// Shares of what could be lost there. None where it is not told apart or nothing was sent.
    pub fn loss(&self) -> Both<Option<f64>> {
        let share =
            |lost: u64, of: u64| (of > 0 && self.lost == 0).then(|| lost as f64 / of as f64);
        Both::new(
            share(self.lost_down, self.sent - self.lost_up),
            share(self.lost_up, self.sent),
        )
    }
}

fn within(measured: &Measured, (from, to): Span) -> impl Iterator<Item = &Echo> + Clone {
    measured
        .echoes
        .iter()
        .filter(move |echo| from <= echo.sent && echo.sent < to)
}

pub(super) fn account(measured: &Measured, span: Span) -> EchoAccount {
    let mut account = EchoAccount::default();
    for echo in within(measured, span) {
        account.sent += 1;
        *match echo.fate {
            Fate::Back => &mut account.back,
            Fate::LostUp => &mut account.lost_up,
            Fate::LostDown => &mut account.lost_down,
            Fate::Lost => &mut account.lost,
        } += 1;
        account.reordered_up += u64::from(echo.reordered_up);
        account.reordered_down += u64::from(echo.reordered_down);
        account.duplicates += u64::from(echo.duplicates);
    }
    account
}

/// Part of a time for which it is known what happened: of its tenths of a second, or of two intervals of datagrams where those take longer, those in which one
/// left that came back or was lost in a known direction. None where neither datagrams are sent nor anything stands for them.
pub(super) fn coverage(measured: &Measured, stalls: &[Stall], span: Span) -> Option<f64> {
    if measured.server.echo.is_none() && measured.echoes.is_empty() {
        return None;
    }
    let told = within(measured, span).filter(|echo| echo.fate != Fate::Lost);
    let told: Vec<Time> = told.map(|echo| echo.sent).collect();
    let (mut all, mut known) = (Delta::ZERO, Delta::ZERO);
    for (from, to) in outside(stalls, span, Delta::ZERO) {
        let mut at = from;
        while at < to {
            let end = (at + COVERED.max(pace(measured, at) * 2)).min(to);
            let next = told.partition_point(|sent| *sent < at);
            if told.get(next).is_some_and(|sent| *sent < end) {
                known += end.since(at);
            }
            at = end;
        }
        all += to.since(from);
    }
    Some(known.as_secs() / all.as_secs().max(1e-9))
}

/// Queues of bulk load change little in that time.
const COVERED: Delta = Delta::ms(100);

/// The interval between datagrams at that time.
pub(super) fn pace(measured: &Measured, at: Time) -> Delta {
    let after = measured.paces.partition_point(|(from, _)| *from <= at);
    let known = measured.paces.get(after.saturating_sub(1));
    known.map_or(Delta::ZERO, |(_, pace)| *pace)
}

/// Delays, each at the time that the datagram entered what delayed it.
fn samples(
    measured: &Measured,
    (from, to): Span,
    look: impl Fn(&Echo) -> Option<(Time, Delta)>,
) -> Vec<Sample> {
    let samples = measured
        .echoes
        .iter()
        .filter_map(look)
        .map(|(at, delay)| Sample { at, delay });
    let mut samples: Vec<Sample> = samples
        .filter(|sample| from <= sample.at && sample.at < to)
        .collect();
    samples.sort_by_key(|sample| sample.at);
    samples
}

/// By how much nearly all packets of a time were later than the least of the whole test. None: they were not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub one_way: Both<Option<Delta>>,
    pub round_trip: Option<Delta>,
}

impl Standing {
    pub fn is_any(&self) -> bool {
        self.one_way.iter().any(Option::is_some) || self.round_trip.is_some()
    }
}

/// What load is compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Still {
    pub(super) span: Span,
    /// Where nearly all packets of it were late, its baseline is the floor of the whole test.
    pub(super) standing: Standing,
    /// Least round trip of the test.
    floor: Option<Delta>,
}

impl Still {
    pub(super) fn of(measured: &Measured, span: Span) -> Still {
        let floor = floor(measured);
        let late = |look: fn(&Echo) -> Option<(Time, Delta)>, least: Delta| {
            let idle = samples(measured, span, look).into_iter();
            let mut delays: Vec<Delta> = idle.map(|sample| sample.delay).collect();
            standing(&mut delays, least)
        };
        Still {
            span,
            standing: Standing {
                one_way: Both::new(late(down, Delta::ZERO), late(up, Delta::ZERO)),
                round_trip: floor.and_then(|floor| late(round, floor)),
            },
            floor,
        }
    }

    fn one_way(&self, direction: Direction) -> Baseline {
        match self.standing.one_way[direction] {
            // One-way delays are told above their floor.
            Some(_) => Baseline::Floor(Delta::ZERO),
            None => Baseline::Idle,
        }
    }

    fn round_trip(&self) -> Baseline {
        let is_loaded = self.standing.is_any();
        let floor = self.floor.filter(|_| is_loaded);
        floor.map_or(Baseline::Idle, Baseline::Floor)
    }
}

/// The least round trip of the whole test.
pub(super) fn floor(measured: &Measured) -> Option<Delta> {
    measured.echoes.iter().filter_map(|echo| echo.rtt).min()
}

fn down(echo: &Echo) -> Option<(Time, Delta)> {
    echo.turned.zip(echo.added_down)
}

fn up(echo: &Echo) -> Option<(Time, Delta)> {
    Some((echo.sent, echo.added_up?))
}

fn round(echo: &Echo) -> Option<(Time, Delta)> {
    Some((echo.sent, echo.rtt?))
}

/// What nobody of a time waited less than in that direction.
pub(super) fn least(measured: &Measured, span: Span, direction: Direction) -> Option<Delta> {
    let delays = match direction {
        Direction::Down => samples(measured, span, down),
        Direction::Up => samples(measured, span, up),
    };
    delays.into_iter().map(|sample| sample.delay).min()
}

fn compare(
    measured: &Measured,
    (still, baseline): (Span, Baseline),
    loaded: Span,
    look: impl Fn(&Echo) -> Option<(Time, Delta)> + Copy,
    lost: impl Fn(&EchoAccount) -> u64,
) -> Option<Added> {
    let of = |span| {
        (
            samples(measured, span, look),
            lost(&account(measured, span)),
        )
    };
    let (before, during) = (of(still), of(loaded));
    let [quiet, busy] = [&before, &during].map(|series| Series {
        samples: &series.0,
        lost: series.1,
    });
    added(quiet, busy, baseline, &Spread::default())
}

pub(super) fn added_one_way(
    measured: &Measured,
    still: Option<Still>,
    loaded: Span,
    direction: Direction,
) -> Option<Added> {
    let still = still?;
    let still = (still.span, still.one_way(direction));
    match direction {
        Direction::Down => compare(measured, still, loaded, down, |account| account.lost_down),
        Direction::Up => compare(measured, still, loaded, up, |account| account.lost_up),
    }
}

pub(super) fn added_rtt(measured: &Measured, still: Option<Still>, loaded: Span) -> Option<Added> {
    let still = still?;
    let still = (still.span, still.round_trip());
    compare(measured, still, loaded, round, |account| {
        account.sent - account.back
    })
}

pub(super) fn rtts(measured: &Measured, span: Span) -> Vec<Delta> {
    within(measured, span).filter_map(|echo| echo.rtt).collect()
}

pub(super) fn rtt_quantiles(measured: &Measured, span: Span) -> Option<[Delta; 3]> {
    let mut rtts = rtts(measured, span);
    let all = [0.5, 0.95, 0.99];
    (!rtts.is_empty()).then(|| all.map(|q| quantile(&mut rtts, q).expect("there are some")))
}

pub(super) fn jitter(measured: &Measured, span: Span) -> Option<Delta> {
    let rtts = rtts(measured, span);
    let steps = rtts
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_ns().abs());
    let count = i64::try_from(steps.len()).ok().filter(|&count| count > 0)?;
    Some(Delta::ns(steps.sum::<i64>() / count))
}
