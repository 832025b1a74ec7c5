//! Datagrams: what load added to their delay, and what became of them.

use crate::measured::{Echo, Fate, Measured};
use crate::plan::Direction;
use unbloat_responsiveness::{Added, LoadedRtt, Sample, Series, Spread, added, quantile};
use unbloat_units::{Delta, Time};

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
    /// Shares of what could be lost there: down and up. None where it is not told apart or nothing was sent.
    pub fn loss(&self) -> [Option<f64>; 2] {
        let share =
            |lost: u64, of: u64| (of > 0 && self.lost == 0).then(|| lost as f64 / of as f64);
        [
            share(self.lost_down, self.sent - self.lost_up),
            share(self.lost_up, self.sent),
        ]
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

/// Of all together; None of nothing.
pub(super) fn loss<'a>(accounts: impl Iterator<Item = &'a EchoAccount>) -> Option<f64> {
    let sum = |(sent, back), account: &EchoAccount| (sent + account.sent, back + account.back);
    let (sent, back) = accounts.fold((0, 0), sum);
    (sent > 0).then(|| 1.0 - back as f64 / sent as f64)
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

fn compare(
    measured: &Measured,
    still: Option<Span>,
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
    let (before, during) = (of(still?), of(loaded));
    let [quiet, busy] = [&before, &during].map(|series| Series {
        samples: &series.0,
        lost: series.1,
    });
    added(quiet, busy, &Spread::default())
}

pub(super) fn added_one_way(
    measured: &Measured,
    still: Option<Span>,
    loaded: Span,
    direction: Direction,
) -> Option<Added> {
    match direction {
        Direction::Down => compare(
            measured,
            still,
            loaded,
            |echo| echo.turned.zip(echo.added_down),
            |account| account.lost_down,
        ),
        Direction::Up => compare(
            measured,
            still,
            loaded,
            |echo| Some((echo.sent, echo.added_up?)),
            |account| account.lost_up,
        ),
    }
}

pub(super) fn added_rtt(measured: &Measured, still: Option<Span>, loaded: Span) -> Option<Added> {
    compare(
        measured,
        still,
        loaded,
        |echo| Some((echo.sent, echo.rtt?)),
        |account| account.sent - account.back,
    )
}

fn rtts(measured: &Measured, span: Span) -> Vec<Delta> {
    within(measured, span).filter_map(|echo| echo.rtt).collect()
}

fn quantiles<const N: usize>(measured: &Measured, span: Span, q: [f64; N]) -> Option<[Delta; N]> {
    let mut rtts = rtts(measured, span);
    (!rtts.is_empty()).then(|| q.map(|q| quantile(&mut rtts, q).expect("there are some")))
}

pub(super) fn rtt_quantiles(measured: &Measured, span: Span) -> Option<[Delta; 3]> {
    quantiles(measured, span, [0.5, 0.95, 0.99])
}

pub(super) fn loaded_rtt(measured: &Measured, span: Span) -> Option<LoadedRtt> {
    let [p50, p90, p95, p99] = quantiles(measured, span, [0.5, 0.9, 0.95, 0.99])?;
    Some(LoadedRtt { p50, p90, p95, p99 })
}

pub(super) fn jitter(measured: &Measured, span: Span) -> Option<Delta> {
    let rtts = rtts(measured, span);
    let steps = rtts
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_ns().abs());
    let count = i64::try_from(steps.len()).ok().filter(|&count| count > 0)?;
    Some(Delta::ns(steps.sum::<i64>() / count))
}
