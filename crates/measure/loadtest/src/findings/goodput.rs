//! What the path delivered, what of it receiving applications got, and from when on a stage was loaded.

use super::curves::{Curves, at};
use super::echoes;
use super::stalls::{RECOVERY, Stall, outside};
use crate::measured::{Counter, Measured, StageRun};
use unbloat_responsiveness::STANDS;
use unbloat_units::{Bytes, Delta, Direction, Rate, Time};

const BIN: Delta = Delta::ms(250);

/// Rates of one stage and direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// Bytes of TCP that arrived, duplicates and what was behind holes included: what the path carried.
    pub delivered: Rate,
    pub delivered_by: Counter,
    /// What of it came in order, so that applications got it.
    pub goodput: Rate,
    pub goodput_by: Counter,
    /// Of delivered rates of seconds (of quarters, where it lasts less than four): from the tenth to the ninetieth percentile,
    /// by the median. None of less than four.
    pub spread: Option<f64>,
    /// The same of half seconds in which a queue stood: of what the line carried, as far as it was asked for all that it could.
    pub spread_full: Option<f64>,
}

pub(super) fn over(
    (measured, stalls): (&Measured, &[Stall]),
    stage: usize,
    direction: Direction,
    span: (Time, Time),
) -> Option<Carried> {
    let rate = |curves: &Curves| {
        // Behind the last ACK nothing is known. What is known of too little says nothing of the rest.
        let (from, to) = (span.0, span.1.min(curves.end()?));
        let (mut carried, mut lasted) = (Bytes::ZERO, Delta::ZERO);
        for (begin, end) in outside(stalls, (from, to), RECOVERY) {
            carried += curves.bytes(begin, end) + beside(measured, direction, (begin, end));
            lasted += end.since(begin);
        }
        let is_enough = lasted * 3 > span.1.since(from);
        carried.over(lasted).filter(|_| is_enough)
    };
    let arrived = Curves::delivered(measured, stage, direction)?;
    let in_order = Curves::in_order(measured, stage, direction)?;
    let delivered = rate(&arrived)?;
    Some(Carried {
        delivered,
        delivered_by: arrived.counter,
        // When a hole is filled, what had come before these times counts as well; that was not delivered in them.
        goodput: rate(&in_order)?.min(delivered),
        goodput_by: in_order.counter,
        spread: spread_of((&arrived, stalls), span, BIN * 4, |_| true),
        spread_full: spread_of((&arrived, stalls), span, BIN * 2, |part| {
            echoes::least(measured, part, direction).is_some_and(|least| least >= STANDS)
        }),
    })
}

/// Of parts of at most this length that are wanted.
fn spread_of(
    (curves, stalls): (&Curves, &[Stall]),
    span: (Time, Time),
    most: Delta,
    is_wanted: impl Fn((Time, Time)) -> bool,
) -> Option<f64> {
    let to = span.1.min(curves.end()?);
    let each = (to.since(span.0) / 4).clamp(BIN * 2, most);
    let parts = outside(stalls, (span.0, to), RECOVERY).into_iter();
    let rates = parts.flat_map(|part| curves.rates(part, each));
    let rates = rates.filter(|(begin, _)| is_wanted((*begin, *begin + each)));
    unbloat_responsiveness::spread(rates.map(|(_, rate)| rate).collect())
}

/// What the test itself took from the path besides: probes on connections of their own, the server's account.
fn beside(measured: &Measured, direction: Direction, (from, to): (Time, Time)) -> Bytes {
    let curve = measured.beside.iter();
    let curve: Vec<(Time, u64)> = curve
        .map(|seen| (seen.at, seen.bytes[direction].as_u64()))
        .collect();
    Bytes::new((at(&curve, to) - at(&curve, from)).max(0.0).round() as u64)
}

/// See the rule in [`super`].
pub(super) fn loaded_from(measured: &Measured, number: usize, stage: &StageRun) -> Time {
    let lasts = stage.end.since(stage.begin);
    let [least, most] = [stage.begin + lasts * 3 / 10, stage.begin + lasts / 2];
    let reached = Direction::BOTH.into_iter().filter_map(|direction| {
        let curves = Curves::delivered(measured, number, direction)?;
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

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use crate::measured::{KernelSample, KernelState, Side};

    /// A constant line of 8 Mbit/s; a hole of the ramp is filled after a second of what is judged.
    #[test]
    fn a_hole_that_is_filled_later_makes_no_more_than_the_line_carried() {
        let mut measured = sample();
        measured.kernel.clear();
        for ms in (3_000..=13_000).step_by(10) {
            let at = Time::from_ns(ms * 1_000_000);
            let arrived = (ms - 3_000) as u64 * 1_000;
            let in_order = if ms < 7_000 { 0 } else { arrived };
            for side in [Side::Client, Side::Server] {
                measured.kernel.push(KernelSample {
                    at,
                    side,
                    flow: 0,
                    direction: Direction::Down,
                    state: KernelState {
                        delivered: (side == Side::Server).then_some(Bytes::new(arrived)),
                        received: Bytes::new(in_order),
                        ..KernelState::default()
                    },
                });
            }
        }
        let span = [6_000, 13_000].map(|ms| Time::from_ns(ms * 1_000_000));
        let carried = over((&measured, &[]), 1, Direction::Down, span.into()).unwrap();
        assert!((carried.delivered.as_bps_f64() / 8e6 - 1.0).abs() < 0.01);
        assert_eq!(carried.goodput, carried.delivered);
        assert!(carried.spread.unwrap() < 0.02);
    }
}
