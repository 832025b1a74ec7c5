//! What receiving applications got, and from when on a stage was loaded.

use crate::measured::{Counter, Measured, Side, StageRun};
use crate::plan::Direction;
use std::collections::BTreeMap;
use unbloat_units::{Bytes, Delta, Rate, Time};

const BIN: Delta = Delta::ms(250);

/// Bytes of all flows of a stage and direction by one counter, as curves over time.
pub(crate) struct Curves {
    pub(crate) counter: Counter,
    flows: Vec<Vec<(Time, u64)>>,
}

impl Curves {
    /// By the counter that knows best what the receiving end's TCP could pass on.
    pub(crate) fn of(measured: &Measured, stage: usize, direction: Direction) -> Option<Curves> {
        let flows: Vec<u16> = measured
            .flows
            .iter()
            .filter(|flow| flow.stage == stage && flow.direction == direction)
            .map(|flow| flow.flow)
            .collect();
        let is_of =
            |flow: u16, of: Direction| of == direction && flows.binary_search(&flow).is_ok();
        let (side, counters): (_, &[Counter]) = match direction {
            Direction::Down => (Side::Client, &[Counter::Received, Counter::ClientRead]),
            Direction::Up => {
                let counters = &[
                    Counter::Received,
                    Counter::ServerRead,
                    Counter::Acknowledged,
                ];
                (Side::Server, counters)
            }
        };
        counters.iter().find_map(|&counter| match counter {
            Counter::Received => {
                let samples = measured.kernel.iter();
                let samples = samples
                    .filter(|sample| sample.side == side && is_of(sample.flow, sample.direction));
                let points = samples.map(|sample| (sample.flow, sample.at, sample.state.received));
                Curves::from_points(counter, points).filter(|curves| !curves.is_flat())
            }
            _ => {
                let counts = measured.counts.iter();
                let counts = counts
                    .filter(|count| count.counter == counter && is_of(count.flow, count.direction));
                let points = counts.map(|count| (count.flow, count.at, count.bytes));
                Curves::from_points(counter, points)
            }
        })
    }

    fn from_points(
        counter: Counter,
        points: impl Iterator<Item = (u16, Time, Bytes)>,
    ) -> Option<Curves> {
        let mut curves: BTreeMap<u16, Vec<(Time, u64)>> = BTreeMap::new();
        for (flow, at, bytes) in points {
            curves.entry(flow).or_default().push((at, bytes.as_u64()));
        }
        let flows: Vec<_> = curves.into_values().collect();
        (!flows.is_empty()).then_some(Curves { counter, flows })
    }

    /// Not one byte is counted: a kernel that does not say.
    fn is_flat(&self) -> bool {
        let last = self.flows.iter().filter_map(|curve| curve.last());
        last.map(|(_, bytes)| bytes).sum::<u64>() == 0
    }

    /// Between two times, in proportion where a count is older.
    pub(crate) fn bytes(&self, from: Time, to: Time) -> Bytes {
        let bytes = self
            .flows
            .iter()
            .map(|curve| at(curve, to) - at(curve, from));
        Bytes::new(bytes.sum::<f64>().max(0.0).round() as u64)
    }

    /// Mean rates of equal parts, each with its begin.
    pub(crate) fn rates(&self, (from, to): (Time, Time), each: Delta) -> Vec<(Time, Rate)> {
        let parts = to.since(from).as_ns().max(0) / each.as_ns().max(1);
        let rate = |part: i64| {
            let begin = from + each * part;
            let rate = self
                .bytes(begin, begin + each)
                .over(each)
                .unwrap_or(Rate::ZERO);
            (begin, rate)
        };
        (0..parts).map(rate).collect()
    }
}

/// Of a curve that never falls, nothing before its first point.
fn at(curve: &[(Time, u64)], time: Time) -> f64 {
    let after = curve.partition_point(|(at, _)| *at <= time);
    let before = after.checked_sub(1).map(|i| curve[i]);
    match (before, curve.get(after)) {
        (None, _) => 0.0,
        (Some((_, bytes)), None) => bytes as f64,
        (Some((t0, b0)), Some(&(t1, b1))) => {
            let share = time.since(t0).as_secs() / t1.since(t0).as_secs();
            b0 as f64 + share * (b1 as f64 - b0 as f64)
        }
    }
}

pub(super) fn over(
    measured: &Measured,
    stage: usize,
    direction: Direction,
    (from, to): (Time, Time),
) -> Option<(Rate, Counter)> {
    let curves = Curves::of(measured, stage, direction)?;
    let carried = curves.bytes(from, to) + beside(measured, direction, (from, to));
    let rate = carried.over(to.since(from))?;
    Some((rate, curves.counter))
}

/// How far apart rates of seconds (of quarters, where it lasts less than four) are: from the tenth to the ninetieth percentile, by the median. None of less than four.
pub(super) fn spread(
    measured: &Measured,
    stage: usize,
    direction: Direction,
    span: (Time, Time),
) -> Option<f64> {
    let curves = Curves::of(measured, stage, direction)?;
    let each = (span.1.since(span.0) / 4).clamp(BIN * 2, BIN * 4);
    let rates = curves.rates(span, each).into_iter();
    let mut rates: Vec<Rate> = rates.map(|(_, rate)| rate).collect();
    rates.sort_unstable();
    let at = |share: f64| rates[((rates.len() - 1) as f64 * share).round() as usize].as_bps_f64();
    let is_enough = rates.len() >= 4 && at(0.5) > 0.0;
    is_enough.then(|| (at(0.9) - at(0.1)) / at(0.5))
}

/// What the test itself took from the path besides: probes on connections of their own, the server's account.
fn beside(measured: &Measured, direction: Direction, (from, to): (Time, Time)) -> Bytes {
    let curve = measured.beside.iter();
    let curve: Vec<(Time, u64)> = curve
        .map(|seen| (seen.at, seen.bytes[direction as usize].as_u64()))
        .collect();
    Bytes::new((at(&curve, to) - at(&curve, from)).max(0.0).round() as u64)
}

/// See the rule in [`super`].
pub(super) fn loaded_from(measured: &Measured, number: usize, stage: &StageRun) -> Time {
    let lasts = stage.end.since(stage.begin);
    let [least, most] = [stage.begin + lasts * 3 / 10, stage.begin + lasts / 2];
    let reached = Direction::BOTH.into_iter().filter_map(|direction| {
        let curves = Curves::of(measured, number, direction)?;
        let rates = curves.rates((stage.begin, stage.end), BIN);
        let mut sorted: Vec<Rate> = rates.iter().map(|(_, rate)| *rate).collect();
        sorted.sort_unstable();
        let best = *sorted.get(sorted.len() * 9 / 10)?;
        let enough = Rate::from_bps_f64(0.9 * best.as_bps_f64());
        rates
            .iter()
            .find(|(_, rate)| *rate >= enough)
            .map(|(begin, _)| *begin)
    });
    reached.max().unwrap_or(least).clamp(least, most)
}
