//! What senders had on the way against what the path needs to be full (CellNet 2012, Figures 1 and 5).
//!
//! The paper has one connection and its packets in flight; here all load connections of a direction are added up, as the kernels of
//! their senders tell them. The path needs the delivered rate times the idle round trip: what is beyond it waits in queues.

use super::views::of_senders;
use super::{Idle, LoadFindings};
use crate::measured::{KernelSample, Measured};
use std::collections::BTreeMap;
use unbloat_responsiveness::quantile;
use unbloat_units::{Bytes, Delta, Direction, Time};

/// Parts of the series. The server tells of each of its connections every 250 ms.
const EVERY: Delta = Delta::ms(100);

/// All load connections of a direction together, at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    pub(crate) at: Time,
    pub(crate) in_flight: Bytes,
    pub(crate) cwnd: Bytes,
}

/// Of one loaded stage and direction. Empty where nobody tells of the senders.
pub(crate) fn series(measured: &Measured, stage: usize, direction: Direction) -> Vec<Flight> {
    let Some(run) = measured.stages.get(stage) else {
        return Vec::new();
    };
    let samples = of_senders(measured, stage).filter(|sample| sample.direction == direction);
    let mut samples = samples.peekable();
    let ends = measured.flows.iter().map(|flow| (flow.flow, flow.end));
    let ends: BTreeMap<u16, Time> = ends.collect();
    let mut last: BTreeMap<u16, &KernelSample> = BTreeMap::new();
    let mut series = Vec::new();
    let mut at = run.begin;
    while at < run.end {
        while let Some(sample) = samples.next_if(|sample| sample.at <= at) {
            last.insert(sample.flow, sample);
        }
        last.retain(|flow, _| ends.get(flow).is_none_or(|end| *end > at));
        if !last.is_empty() {
            let sum = |size: fn(&KernelSample) -> Bytes| last.values().copied().map(size).sum();
            series.push(Flight {
                at,
                in_flight: sum(|sample| sample.state.in_flight),
                cwnd: sum(|sample| sample.state.cwnd),
            });
        }
        at += EVERY;
    }
    series
}

/// The median of what was in flight while a stage was judged.
pub(super) fn median(
    measured: &Measured,
    stage: usize,
    direction: Direction,
    (from, to): (Time, Time),
) -> Option<Bytes> {
    let series = series(measured, stage, direction).into_iter();
    let judged = series.filter(|flight| from <= flight.at && flight.at < to);
    // As spans of time, which have quantiles here.
    let mut sizes: Vec<Delta> = judged
        .map(|flight| Delta::ns(flight.in_flight.as_u64() as i64))
        .collect();
    let median = quantile(&mut sizes, 0.5)?;
    Some(Bytes::new(median.as_ns().max(0) as u64))
}

impl LoadFindings {
    /// Delivered rate of that direction times the idle round trip.
    pub fn bandwidth_delay_product(&self, idle: &Idle, direction: Direction) -> Option<Bytes> {
        let rtt = idle.base_rtt.or(idle.view.tcp)?;
        Some(self.delivered[direction]? * rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::{FlowRun, KernelState, Side};
    use unbloat_units::Rate;

    fn sample(ms: i64, side: Side, flow: u16, bytes: u64) -> KernelSample {
        KernelSample {
            at: Time::from_ns(ms * 1_000_000),
            side,
            flow,
            direction: Direction::Down,
            state: KernelState {
                in_flight: Bytes::new(bytes),
                cwnd: Bytes::new(2 * bytes),
                ..KernelState::default()
            },
        }
    }

    #[test]
    fn flows_of_a_direction_are_added_up_by_what_their_senders_said_last() {
        let mut measured = super::super::sample();
        let first = measured.flows[0].clone();
        let short = FlowRun {
            flow: 1,
            end: Time::from_ns(3_350_000_000),
            ..first
        };
        measured.flows.push(short);
        measured.kernel = vec![
            sample(3_000, Side::Server, 0, 1_000),
            sample(3_010, Side::Client, 0, 7),
            sample(3_150, Side::Server, 1, 500),
            sample(3_260, Side::Server, 0, 3_000),
        ];
        let series = series(&measured, 1, Direction::Down);
        let sizes = series.iter().map(|flight| flight.in_flight.as_u64());
        let sizes: Vec<u64> = sizes.take(5).collect();
        assert_eq!(sizes, [1_000, 1_000, 1_500, 3_500, 3_000]);
        assert_eq!(series[3].cwnd, Bytes::new(7_000));
        assert_eq!(series.len(), 100);
        assert!(super::series(&measured, 1, Direction::Up).is_empty());
    }

    #[test]
    fn the_product_is_of_goodput_and_the_round_trip_at_rest() {
        let found = crate::findings(&super::super::sample(), crate::Rule::default());
        let down = found.of(Direction::Down).unwrap();
        let product = down.bandwidth_delay_product(&found.idle, Direction::Down);
        assert_eq!(product, Some(Rate::mbps(48) * Delta::ms(20)));
        assert_eq!(
            down.bandwidth_delay_product(&found.idle, Direction::Up),
            None
        );
    }
}
