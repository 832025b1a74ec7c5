//! Bytes of load connections over time, by one counter.

use crate::measured::{Counter, KernelSample, Measured, Side};
use std::collections::BTreeMap;
use unbloat_units::{Bytes, Delta, Direction, Rate, Time};

/// Fewer segments do not tell their mean size: those of the handshakes are small.
const ENOUGH_SEGMENTS: u64 = 100;

/// Bytes of all flows of a stage and direction by one counter, as curves over time.
pub(crate) struct Curves {
    pub(crate) counter: Counter,
    flows: Vec<Vec<(Time, u64)>>,
}

/// Load connections of one stage and direction.
struct Of {
    /// Numbers and begins, in order.
    flows: Vec<(u16, Time)>,
    direction: Direction,
}

impl Of {
    fn new(measured: &Measured, stage: usize, direction: Direction) -> Of {
        let flows = measured.flows.iter();
        let flows = flows.filter(|flow| flow.stage == stage && flow.direction == direction);
        Of {
            flows: flows.map(|flow| (flow.flow, flow.begin)).collect(),
            direction,
        }
    }

    fn has(&self, flow: u16, direction: Direction) -> bool {
        direction == self.direction && self.begin(flow).is_some()
    }

    fn begin(&self, flow: u16) -> Option<Time> {
        let at = self
            .flows
            .binary_search_by_key(&flow, |(number, _)| *number);
        Some(self.flows[at.ok()?].1)
    }

    fn kernel<'a>(
        &'a self,
        measured: &'a Measured,
        side: Side,
    ) -> impl Iterator<Item = &'a KernelSample> {
        let samples = measured.kernel.iter();
        samples.filter(move |sample| sample.side == side && self.has(sample.flow, sample.direction))
    }

    fn counts(&self, measured: &Measured, counter: Counter) -> Option<Curves> {
        let counts = measured.counts.iter();
        let counts = counts
            .filter(|count| count.counter == counter && self.has(count.flow, count.direction));
        let points = counts.map(|count| (count.flow, count.at, count.bytes.as_u64()));
        Curves::from_points((counter, self), points)
    }
}

const fn receiver(direction: Direction) -> Side {
    match direction {
        Direction::Down => Side::Client,
        Direction::Up => Side::Server,
    }
}

const fn sender(direction: Direction) -> Side {
    match direction {
        Direction::Down => Side::Server,
        Direction::Up => Side::Client,
    }
}

impl Curves {
    /// What the receiving application could read: by the counter that knows best what its TCP had in order.
    pub(crate) fn in_order(
        measured: &Measured,
        stage: usize,
        direction: Direction,
    ) -> Option<Curves> {
        let of = Of::new(measured, stage, direction);
        let received = of.kernel(measured, receiver(direction));
        let received =
            received.map(|sample| (sample.flow, sample.at, sample.state.received.as_u64()));
        let others: &[Counter] = match direction {
            Direction::Down => &[Counter::ClientRead],
            Direction::Up => &[Counter::ServerRead, Counter::Acknowledged],
        };
        Curves::from_points((Counter::Received, &of), received)
            .filter(|curves| !curves.is_flat())
            .or_else(|| {
                others
                    .iter()
                    .find_map(|&counter| of.counts(measured, counter))
            })
    }

    /// What arrived, in order or not: by the sender's kernel, else by the receiver's segments, else what was in order.
    ///
    /// An ACK tells of what arrived one way back earlier; datagrams tell how long that way took.
    pub(crate) fn delivered(
        measured: &Measured,
        stage: usize,
        direction: Direction,
    ) -> Option<Curves> {
        let of = Of::new(measured, stage, direction);
        let returns = Returns::of(measured, direction);
        let sent = of.kernel(measured, sender(direction));
        let sent = sent.filter_map(|sample| {
            let delivered = sample.state.delivered?.as_u64();
            Some((sample.flow, returns.before(sample.at), delivered))
        });
        Curves::from_points((Counter::Sacked, &of), sent)
            .filter(|curves| !curves.is_flat())
            .or_else(|| of.segments(measured))
            .or_else(|| Curves::in_order(measured, stage, direction))
    }

    /// A busy machine may be asked for the first time after much has come: each curve begins with its flow.
    fn from_points(
        (counter, of): (Counter, &Of),
        points: impl Iterator<Item = (u16, Time, u64)>,
    ) -> Option<Curves> {
        let mut curves: BTreeMap<u16, Vec<(Time, u64)>> = BTreeMap::new();
        for (flow, at, bytes) in points {
            let begin = of.begin(flow).unwrap_or(at).min(at);
            let curve = curves.entry(flow).or_insert_with(|| vec![(begin, 0)]);
            // Neither time nor a count goes back.
            let (last, most) = curve.last().copied().unwrap_or((at, bytes));
            curve.push((at.max(last), bytes.max(most)));
        }
        let flows: Vec<_> = curves.into_values().collect();
        (!flows.is_empty()).then_some(Curves { counter, flows })
    }

    /// Not one byte is counted: a kernel that does not say.
    fn is_flat(&self) -> bool {
        let mut last = self.flows.iter().filter_map(|curve| curve.last());
        last.all(|(_, bytes)| *bytes == 0)
    }

    /// Until when is counted.
    pub(super) fn end(&self) -> Option<Time> {
        let lasts = self.flows.iter().filter_map(|curve| curve.last());
        lasts.map(|(at, _)| *at).max()
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

impl Of {
    /// Segments with data that came to the receiver, times their mean size. That is the most bytes in order for a segment that it ever
    /// had: while nothing is missing, all that came is in order.
    fn segments(&self, measured: &Measured) -> Option<Curves> {
        let samples = || {
            let samples = self.kernel(measured, receiver(self.direction));
            samples.filter_map(|sample| Some((sample, sample.state.segments_received?)))
        };
        let mut sizes: BTreeMap<u16, f64> = BTreeMap::new();
        for (sample, segments) in samples().filter(|(_, segments)| *segments >= ENOUGH_SEGMENTS) {
            let size = sample.state.received.as_u64() as f64 / segments as f64;
            let most = sizes.entry(sample.flow).or_default();
            *most = most.max(size);
        }
        let points = samples().map(|(sample, segments)| {
            let size = sizes.get(&sample.flow);
            let by_size = size.map_or(0, |size| (segments as f64 * size).round() as u64);
            let bytes = by_size.max(sample.state.received.as_u64());
            (sample.flow, sample.at, bytes)
        });
        Curves::from_points((Counter::Segments, self), points).filter(|curves| !curves.is_flat())
    }
}

/// How long an ACK took back to the sender, by when it arrived: what datagrams took on that way.
struct Returns(Vec<(Time, Delta)>);

impl Returns {
    fn of(measured: &Measured, direction: Direction) -> Returns {
        let way = measured
            .clocks
            .map_or(Delta::ZERO, |clocks| clocks.idle_rtt / 2);
        let echoes = measured.echoes.iter();
        let mut arrivals: Vec<(Time, Delta)> = match direction {
            Direction::Up => echoes
                .filter_map(|echo| {
                    let took = way + echo.added_down?;
                    Some((echo.turned? + took, took))
                })
                .collect(),
            Direction::Down => echoes
                .filter_map(|echo| Some((echo.turned?, way + echo.added_up?)))
                .collect(),
        };
        arrivals.sort_by_key(|(at, _)| *at);
        Returns(arrivals)
    }

    /// When the ACK that arrived at that time had left.
    fn before(&self, at: Time) -> Time {
        let after = self.0.partition_point(|(arrived, _)| *arrived <= at);
        let took = after.checked_sub(1).map(|last| self.0[last].1);
        at - took.unwrap_or(Delta::ZERO)
    }
}

/// Of a curve that never falls, nothing before its first point.
pub(super) fn at(curve: &[(Time, u64)], time: Time) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use crate::measured::{Clocks, KernelState};

    fn at(ms: i64) -> Time {
        Time::from_ns(ms * 1_000_000)
    }

    /// A kernel's view of the sample's flow 0, a download during stage 1, from 3 s to 13 s.
    fn seen(ms: i64, side: Side, state: KernelState) -> KernelSample {
        KernelSample {
            at: at(ms),
            side,
            flow: 0,
            direction: Direction::Down,
            state,
        }
    }

    /// 8 Mbit/s arrive all the time; in order is nothing between the fourth and the sixth second.
    fn with_a_hole() -> Measured {
        let mut measured = sample();
        measured.kernel.clear();
        for ms in (3_000..=13_000).step_by(10) {
            let arrived = (ms - 3_000) as u64 * 1_000;
            let in_order = if (4_000..6_000).contains(&ms) {
                1_000_000
            } else {
                arrived
            };
            let receiver = KernelState {
                received: Bytes::new(in_order),
                segments_received: Some(arrived / 1_000),
                ..KernelState::default()
            };
            let sender = KernelState {
                delivered: Some(Bytes::new(arrived)),
                ..KernelState::default()
            };
            measured.kernel.push(seen(ms, Side::Client, receiver));
            // The ACK takes 10 ms on an idle way up.
            measured.kernel.push(seen(ms + 10, Side::Server, sender));
        }
        measured
    }

    fn rate(curves: &Curves, from_ms: i64) -> f64 {
        let rates = curves.rates((at(from_ms), at(from_ms + 1_000)), Delta::secs(1));
        rates[0].1.as_bps_f64() / 1e6
    }

    #[test]
    fn bytes_behind_a_hole_are_delivered_when_they_arrive_and_in_order_when_it_is_filled() {
        let measured = with_a_hole();
        let arrived = Curves::delivered(&measured, 1, Direction::Down).unwrap();
        let in_order = Curves::in_order(&measured, 1, Direction::Down).unwrap();
        assert_eq!(arrived.counter, Counter::Sacked);
        assert_eq!(in_order.counter, Counter::Received);
        for second in 4..12 {
            assert!((rate(&arrived, second * 1_000) - 8.0).abs() < 0.01);
        }
        assert!(rate(&in_order, 4_500) < 0.01);
        assert!(rate(&in_order, 5_500) > 19.0);
    }

    #[test]
    fn segments_stand_in_where_the_sender_does_not_tell() {
        let mut measured = with_a_hole();
        measured.kernel.retain(|sample| sample.side == Side::Client);
        let arrived = Curves::delivered(&measured, 1, Direction::Down).unwrap();
        assert_eq!(arrived.counter, Counter::Segments);
        for second in 4..12 {
            let found = rate(&arrived, second * 1_000);
            assert!((found - 8.0).abs() < 0.1, "{second}: {found}");
        }
    }

    #[test]
    fn an_ack_tells_of_the_time_at_which_it_left() {
        let mut measured = with_a_hole();
        measured.clocks = Some(Clocks {
            drift_ppm: 0.0,
            error: Delta::us(20),
            idle_rtt: Delta::ms(20),
        });
        // From 8 s on each ACK waits 500 ms in the uplink, as the datagrams do.
        for sample in &mut measured.kernel {
            let waits = sample.side == Side::Server && sample.at >= at(8_010);
            sample.at += if waits { Delta::ms(500) } else { Delta::ZERO };
        }
        for echo in &mut measured.echoes {
            let waited = if echo.sent >= at(8_000) {
                Delta::ms(500)
            } else {
                Delta::ZERO
            };
            (echo.added_up, echo.added_down) = (Some(waited), Some(Delta::ZERO));
            echo.turned = Some(echo.sent + Delta::ms(10) + waited);
        }
        let arrived = Curves::delivered(&measured, 1, Direction::Down).unwrap();
        for ms in (4_000..12_000).step_by(250) {
            let found = rate(&arrived, ms);
            assert!((found - 8.0).abs() < 0.2, "{ms}: {found}");
        }
        assert!(arrived.end().unwrap() >= at(12_990));
    }

    #[test]
    fn what_nobody_counted_has_no_curve() {
        let mut measured = sample();
        (measured.kernel, measured.counts) = (Vec::new(), Vec::new());
        assert!(Curves::delivered(&measured, 1, Direction::Down).is_none());
        assert!(Curves::in_order(&measured, 1, Direction::Up).is_none());
    }
}
