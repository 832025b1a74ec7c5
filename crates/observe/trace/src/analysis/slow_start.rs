//! Trains of duplicate ACKs, and whether a slow start followed (§5, Fig. 15 and 16).
//!
//! # What we follow
//! `Rss`, the rate in 100 to 200 ms over the rate in 0 to 100 ms after the last duplicate ACK of a
//! train; above `rss_threshold` a slow start followed.
//!
//! # Where we differ
//! | the paper | here | why |
//! |---|---|---|
//! | "a long list of duplicate ACKs" | at least three, the fast retransmit threshold (RFC 5681 §3.2) | fewer mean nothing to a sender |
//! | "the last duplicate ACK" | none follows within 200 ms | a later one would lie in the span that is measured |
//! | nothing passed in the first 100 ms: not said | a slow start if anything passed in the second | the sender stopped and began again; `rss_max` leaves it out, being infinite |
//! | nothing passed in both | no verdict | there was nothing to send |

use super::{Analysis, Context, Event, Findings, Flow};
use crate::tcp::{AckKind, Kind, Segment};
use unbloat_table::{RowWriter, SideColumns, side_columns};
use unbloat_units::{Both, Delta, Direction, Time};

pub(crate) struct SlowStart;

#[derive(Clone, Default)]
pub(crate) struct Light {
    /// Present from the first duplicate ACK on.
    trains: Option<Box<Both<Trains>>>,
}

/// Duplicate ACKs that a sender takes for a loss (RFC 5681 §3.2).
const THRESHOLD: u32 = 3;
const FIRST: Delta = Delta::ms(100);
const SECOND: Delta = Delta::ms(200);

#[derive(Clone, Copy, Default)]
struct Trains {
    current: Option<Train>,
    trains: u32,
    slow_starts: u32,
    rss_max: Option<f64>,
}

#[derive(Clone, Copy)]
struct Train {
    start: Time,
    last: Time,
    count: u32,
    /// Unacknowledged bytes at its first duplicate ACK.
    in_flight: u32,
    /// Payload in the first and the second 100 ms after its last duplicate ACK so far.
    payload: [u64; 2],
}

impl Train {
    /// Infinite where nothing passed in the first 100 ms; `None` where nothing passed at all.
    fn rss(&self) -> Option<f64> {
        let [first, second] = self.payload;
        (first + second > 0).then(|| second as f64 / first as f64)
    }
}

impl Trains {
    fn on_dup_ack(&mut self, seg: &Segment<'_>) {
        let train = self.current.get_or_insert(Train {
            start: seg.now,
            last: seg.now,
            count: 0,
            in_flight: seg.remaining,
            payload: [0; 2],
        });
        train.count += 1;
        train.last = seg.now;
        train.payload = [0; 2];
    }

    fn on_data(&mut self, seg: &Segment<'_>) {
        if let Some(train) = &mut self.current {
            let second = seg.now.since(train.last) >= FIRST;
            train.payload[usize::from(second)] += u64::from(seg.header.payload_len);
        }
    }

    /// Judges the train once 200 ms have passed since its last duplicate ACK.
    fn settle(&mut self, side: Direction, now: Time, flow: &Flow<'_>, cx: &mut Context<'_>) {
        let Some(train) = self.current else { return };
        if now.since(train.last) < SECOND {
            return;
        }
        self.current = None;
        if train.count < THRESHOLD {
            return;
        }
        self.count(side, &train, flow, cx);
        let Some(rss) = train.rss() else { return };
        if rss.is_finite() {
            self.rss_max = Some(self.rss_max.map_or(rss, |max| max.max(rss)));
        }
        if rss > cx.params.rss_threshold {
            self.slow_starts += 1;
            let event = Event {
                side,
                time: train.last,
                kind: "slow_start",
                seq: None,
                value: Some(rss).filter(|rss| rss.is_finite()),
                detail: rss
                    .is_infinite()
                    .then_some("nothing passed in the first 100 ms"),
            };
            cx.event(flow, event);
        }
    }

    fn count(&mut self, side: Direction, train: &Train, flow: &Flow<'_>, cx: &mut Context<'_>) {
        self.trains += 1;
        let span = train.last.since(train.start);
        let detail = format!("over {span}, {} B in flight before", train.in_flight);
        let event = Event {
            side,
            time: train.start,
            kind: "dup_ack_train",
            seq: None,
            value: Some(f64::from(train.count)),
            detail: Some(&detail),
        };
        cx.event(flow, event);
    }
}

#[cold]
fn watch(sides: &mut Both<Trains>, seg: &Segment<'_>, flow: &Flow<'_>, cx: &mut Context<'_>) {
    for side in Direction::BOTH {
        sides[side].settle(side, seg.now, flow, cx);
    }
    if seg.ack == AckKind::Duplicate {
        sides[seg.side.reverse()].on_dup_ack(seg);
    }
    if seg.header.payload_len > 0 {
        sides[seg.side].on_data(seg);
    }
}

side_columns! {
    pub struct SlowStartColumns {
        dup_ack_trains ["dup_ack_trains_" ""]: Option<u32> = "trains of at least three duplicate ACKs about this side's data (section 5)",
        slow_starts ["slow_starts_" ""]: Option<u32> = "trains with Rss above rss_threshold: an undesired slow start",
        rss_max ["rss_" "_max"]: Option<f64> = "largest finite Rss: rate in 100 to 200 ms over rate in 0 to 100 ms after a train",
    }
}

impl Analysis for SlowStart {
    type Light = Light;
    type Deep = ();
    type Columns = Both<SlowStartColumns>;

    #[inline]
    fn on_packet(
        kind: Kind,
        light: &mut Light,
        _: Option<&mut ()>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        // Most of a flow's life no train is being watched, even if there was one.
        let repeats = kind == Kind::Other && seg.ack == AckKind::Duplicate;
        match &mut light.trains {
            Some(sides) if repeats || sides.iter().any(|side| side.current.is_some()) => {
                watch(sides, seg, flow, cx);
            }
            None if repeats => watch(light.trains.get_or_insert_default(), seg, flow, cx),
            _ => {}
        }
    }

    fn finish(
        light: &mut Light,
        _: Option<&mut ()>,
        flow: &Flow<'_>,
        _: &mut Findings,
        cx: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        for side in Direction::BOTH {
            let known = flow.is_tcp() && flow.half(side).span().is_some();
            let mut trains = light
                .trains
                .as_ref()
                .map_or_else(Trains::default, |t| t[side]);
            trains.settle(side, flow.core.last, flow, cx);
            // A train so close to the end that its Rss is unknown is a train all the same.
            if let Some(train) = trains.current.filter(|t| t.count >= THRESHOLD) {
                trains.count(side, &train, flow, cx);
            }
            let columns = SlowStartColumns {
                dup_ack_trains: known.then_some(trains.trains),
                slow_starts: known.then_some(trains.slow_starts),
                rss_max: trains.rss_max,
            };
            columns.write(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Script;

    /// Five segments, the first lost after the monitor; four duplicate ACKs, the last at 153 ms.
    fn train() -> Script {
        let mut script = Script::opened();
        for i in 0..5 {
            let ms = 100.0 + f64::from(i);
            script.packet(ms, &format!("< {}+1000 ack 1", 1 + i * 1000));
        }
        for i in 1..5 {
            let ms = 149.0 + f64::from(i);
            let right = 1001 + i * 1000;
            script.packet(ms, &format!("> 1+0 ack 1 sack 1001-{right}"));
        }
        script
    }

    #[test]
    fn twice_the_rate_in_the_second_100_ms_is_a_slow_start() {
        let results = train()
            .at(180.0, "< 1+1000 ack 1")
            .at(230.0, "> 1+0 ack 5001")
            .at(300.0, "< 5001+1000 ack 1")
            .at(310.0, "< 6001+1000 ack 1")
            .at(500.0, "> 1+0 ack 7001")
            .run();
        assert_eq!(results.flow("dup_ack_trains_down"), Some(1.0));
        assert_eq!(results.flow("slow_starts_down"), Some(1.0));
        assert_eq!(results.flow("rss_down_max"), Some(2.0));
        let train = &results.events("dup_ack_train")[0];
        assert_eq!((train.ms, train.value), (150.0, Some(4.0)));
        assert_eq!(
            train.detail.as_deref(),
            Some("over 3 ms, 5000 B in flight before")
        );
        let slow_start = &results.events("slow_start")[0];
        assert_eq!((slow_start.ms, slow_start.value), (153.0, Some(2.0)));
    }

    #[test]
    fn a_steady_rate_is_none() {
        let results = train()
            .at(180.0, "< 1+1000 ack 1")
            .at(300.0, "< 5001+1000 ack 1")
            .at(500.0, "> 1+0 ack 6001")
            .run();
        assert_eq!(results.flow("slow_starts_down"), Some(0.0));
        assert_eq!(results.flow("rss_down_max"), Some(1.0));
    }

    #[test]
    fn silence_and_then_data_is_a_slow_start_of_infinite_rss() {
        let results = train()
            .at(300.0, "< 1+1000 ack 1")
            .at(500.0, "> 1+0 ack 5001")
            .run();
        assert_eq!(results.flow("slow_starts_down"), Some(1.0));
        assert_eq!(results.flow("rss_down_max"), None);
        assert_eq!(results.events("slow_start")[0].value, None);
    }

    #[test]
    fn a_train_at_the_very_end_has_no_verdict() {
        let results = train().at(180.0, "< 1+1000 ack 1").run();
        assert_eq!(results.flow("dup_ack_trains_down"), Some(1.0));
        assert_eq!(results.flow("slow_starts_down"), Some(0.0));
        assert_eq!(results.flow("rss_down_max"), None);
    }

    #[test]
    fn two_duplicate_acks_are_no_train() {
        let results = Script::opened()
            .at(100.0, "< 1+1000 ack 1")
            .at(101.0, "< 1001+1000 ack 1")
            .at(150.0, "> 1+0 ack 1 sack 1001-2001")
            .at(151.0, "> 1+0 ack 1 sack 1001-3001")
            .at(400.0, "< 1+1000 ack 1")
            .run();
        assert_eq!(results.flow("dup_ack_trains_down"), Some(0.0));
        assert_eq!(results.flow("slow_starts_down"), Some(0.0));
    }
}
