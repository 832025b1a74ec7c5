//! Retransmission timeouts of the sender, and which of them better timers would have avoided (§5).
//!
//! The paper infers timeouts from rates (`slow_start`); here each retransmission is judged by what
//! the sender knew when it sent it: see [`super::sender`].
//!
//! # Avoidable timeouts
//! The paper's cure is to feed the timer with round trips taken from the SACK blocks of duplicate
//! ACKs. Two estimators run for flows of more than `deep_after`, with the sender's view of each
//! round trip (monitor to receiver as sampled, monitor to sender at its floor): one fed by ACKs
//! alone, one by SACKs too. A timeout was avoidable if the bytes were acknowledged so soon after it
//! that the ACK answers an earlier copy (or the receiver reports the copy as not needed), and the
//! estimator with SACK samples, not the one without, gave longer than it took until that ACK.
//! Linux takes SACK samples since 2013, so few of its timeouts are of this kind.

use super::rto_estimator::RtoEstimator;
use super::rtt::Bin;
use super::sender::{Cause, Sender, delay};
use super::{Analysis, Context, Event, Findings, Flow};
use crate::tcp::{AckKind, DataKind, Kind, RttSample, Segment};
use unbloat_table::{RowWriter, SideColumns, side_columns};
use unbloat_units::{Both, Delta, Direction, Seq, Time};

pub(crate) struct Rto;

#[derive(Clone, Default)]
pub(crate) struct Light {
    /// When new bytes were acknowledged last, in microseconds of the flow's life.
    last_ack_us: Both<u32>,
    /// Present from the first duplicate ACK or retransmission on.
    watch: Option<Box<Both<Watch>>>,
}

#[derive(Clone, Default)]
pub(crate) struct Deep {
    sides: Both<Estimators>,
}

#[derive(Clone, Default)]
struct Estimators {
    acks: RtoEstimator,
    acks_and_sacks: RtoEstimator,
    bin: Bin,
}

#[derive(Clone, Default)]
struct Watch {
    sender: Sender,
    timeouts: u32,
    avoidable: u32,
    open: Option<OpenTimeout>,
}

/// A timeout whose bytes are not acknowledged yet.
#[derive(Clone)]
struct OpenTimeout {
    at: Time,
    restart: Time,
    first: Seq,
    /// What the timer would have been with SACK samples.
    rto_with_sacks: Delta,
}

impl Watch {
    fn on_ack(&mut self, seg: &Segment<'_>, flow: &Flow<'_>) {
        self.sender.on_ack(seg);
        let Some(open) = &self.open else { return };
        if seg.dsack || seg.acked > 0 && seg.header.ack.after(open.first) {
            let side = seg.side.reverse();
            let floor = flow.half(side).rtt_floor().unwrap_or(Delta::MAX);
            let is_of_earlier_copy = seg.dsack || seg.eifel || seg.now.since(open.at) < floor;
            let needed = (seg.now + delay(side, flow)).since(open.restart);
            if is_of_earlier_copy && open.rto_with_sacks > needed {
                self.avoidable += 1;
            }
            self.open = None;
        }
    }

    fn on_copy(
        &mut self,
        seg: &Segment<'_>,
        estimators: Option<&Estimators>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        let cause = self.sender.judge(seg, flow);
        let (kind, value, detail) = match cause {
            Cause::Timeout { after, repeated } => {
                self.timeouts += 1;
                self.open = estimators.and_then(|e| e.open(seg, after));
                ("rto", after.as_ms(), repeated.then_some("repeated"))
            }
            Cause::Probe { after } => ("tail_loss_probe", after.as_ms(), None),
            Cause::Early { after } => ("early_retransmission", after.as_ms(), None),
            Cause::FastRetransmit => {
                let dup_acks = f64::from(flow.half(seg.side).dup_acks());
                ("fast_retransmit", dup_acks, None)
            }
            Cause::Recovery => return,
        };
        let event = Event {
            side: seg.side,
            time: seg.now,
            kind,
            seq: Some(seg.header.seq),
            value: Some(value),
            detail,
        };
        cx.event(flow, event);
    }
}

impl Estimators {
    /// `None` if the timer would have run out with SACK samples as well.
    fn open(&self, seg: &Segment<'_>, after: Delta) -> Option<OpenTimeout> {
        let without = self.acks.rto()?;
        let rto_with_sacks = self.acks_and_sacks.rto()?;
        (rto_with_sacks > after.max(without)).then_some(OpenTimeout {
            at: seg.now,
            restart: seg.now - after,
            first: seg.header.seq,
            rto_with_sacks,
        })
    }

    #[inline]
    fn on_ack(&mut self, seg: &Segment<'_>, flow: &Flow<'_>) {
        if let Some(sample) = seg.rtt {
            let oldest = sample.from_oldest.unwrap_or(sample.rtt);
            let rtt = oldest + delay(seg.side.reverse(), flow);
            self.acks.add(rtt);
            self.acks_and_sacks.add(rtt);
        }
    }

    #[cold]
    fn on_dup_ack(&mut self, seg: &Segment<'_>, flow: &Flow<'_>, cx: &mut Context<'_>) {
        let side = seg.side.reverse();
        if let Some(rtt) = seg.sacked_rtt {
            self.acks_and_sacks.add(rtt + delay(side, flow));
            let in_flight = seg.remaining;
            let sample = RttSample {
                rtt,
                from_oldest: None,
                at_once: 1,
                in_flight,
            };
            self.bin.add("sack", sample, seg.now, side, flow, cx);
        }
    }
}

impl Light {
    #[cold]
    fn watch(
        &mut self,
        deep: Option<&Deep>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        let last_ack_us = self.last_ack_us;
        let sides = self.watch.get_or_insert_with(|| {
            let begin = |side: Direction| {
                let us = i64::from(last_ack_us[side]);
                Sender::begin(side, flow.core.start + Delta::us(us), flow)
            };
            Box::new(Both::of(|side| Watch {
                sender: begin(side),
                ..Watch::default()
            }))
        });
        sides[seg.side.reverse()].on_ack(seg, flow);
        if seg.header.seq_len() == 0 || seg.header.tcp_flags.syn() {
            return;
        }
        let watch = &mut sides[seg.side];
        watch.sender.catch_up(seg, flow);
        if is_sent_again(seg.data) {
            let estimators = deep.map(|d| &d.sides[seg.side]);
            watch.on_copy(seg, estimators, flow, cx);
        }
    }
}

fn is_sent_again(data: DataKind) -> bool {
    matches!(
        data,
        DataKind::Retransmission | DataKind::UpstreamLoss | DataKind::Ambiguous
    )
}

side_columns! {
    pub struct RtoColumns {
        rtos ["rtos_" ""]: Option<u32> = "retransmission timeouts of this side's sender (section 5), of at least 180 ms: sooner ones are events of kind early_retransmission",
        avoidable_rtos ["avoidable_rtos_" ""]: Option<u32> = "of them, those that a timer fed by SACK samples would have avoided; null for flows within deep_after",
    }
}

impl Analysis for Rto {
    type Light = Light;
    type Deep = Deep;
    type Columns = Both<RtoColumns>;

    #[inline]
    fn on_packet(
        kind: Kind,
        light: &mut Light,
        deep: Option<&mut Deep>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        match kind {
            Kind::Data => {
                if let Some(sides) = &mut light.watch {
                    sides[seg.side].sender.catch_up(seg, flow);
                }
            }
            Kind::Ack => {
                let acked = seg.side.reverse();
                if let Some(deep) = deep {
                    deep.sides[acked].on_ack(seg, flow);
                }
                if let Some(sides) = &mut light.watch {
                    sides[acked].on_ack(seg, flow);
                }
                light.last_ack_us[acked] = seg.now_us;
            }
            Kind::Other => {
                let acked = seg.side.reverse();
                let is_dup_ack = seg.ack == AckKind::Duplicate;
                let mut deep = deep;
                if let Some(deep) = &mut deep {
                    let estimators = &mut deep.sides[acked];
                    estimators.on_ack(seg, flow);
                    if is_dup_ack {
                        estimators.on_dup_ack(seg, flow, cx);
                    }
                }
                let begins_trouble = seg.is_odd && (is_dup_ack || is_sent_again(seg.data));
                if light.watch.is_some() || begins_trouble {
                    light.watch(deep.as_deref(), seg, flow, cx);
                }
                if matches!(seg.ack, AckKind::First | AckKind::Advance) {
                    light.last_ack_us[acked] = seg.now_us;
                }
            }
        }
    }

    fn finish(
        light: &mut Light,
        deep: Option<&mut Deep>,
        flow: &Flow<'_>,
        _: &mut Findings,
        cx: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        let mut deep = deep;
        for side in Direction::BOTH {
            if let Some(deep) = &mut deep {
                let bin = &mut deep.sides[side].bin;
                bin.write("sack", side, true, flow, cx);
            }
            let known = flow.is_tcp() && flow.half(side).span().is_some();
            let watch = light.watch.as_ref().map(|w| &w[side]);
            let columns = RtoColumns {
                rtos: known.then(|| watch.map_or(0, |w| w.timeouts)),
                avoidable_rtos: (known && deep.is_some()).then(|| watch.map_or(0, |w| w.avoidable)),
            };
            columns.write(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Results, Script};

    /// Handshake, one clean exchange, then `n` segments of 1,000 bytes from 200 ms on, 1 ms apart.
    /// The sender's round trip is 70 ms: 20 above the monitor and 50 below.
    fn flight(n: u32) -> Script {
        let mut script = Script::opened()
            .at(80.0, "> 1+100 ack 1")
            .at(100.0, "< 1+1000 ack 101")
            .at(150.0, "> 101+0 ack 1001");
        for i in 0..n {
            let ms = 200.0 + f64::from(i);
            script.packet(ms, &format!("< {}+1000 ack 101", 1001 + i * 1000));
        }
        script
    }

    fn counts(results: &Results) -> [usize; 3] {
        ["rto", "fast_retransmit", "tail_loss_probe"].map(|kind| results.events(kind).len())
    }

    #[test]
    fn reordering_alone_is_nothing() {
        let results = flight(1)
            .at(202.0, "< 3001+1000 ack 101 ts 12 1")
            .at(202.5, "< 2001+1000 ack 101 ts 11 1")
            .at(250.0, "> 101+0 ack 2001")
            .at(252.0, "> 101+0 ack 2001 sack 3001-4001")
            .at(252.5, "> 101+0 ack 4001")
            .run();
        assert_eq!(results.flow("reordered_down_packets"), Some(1.0));
        assert_eq!(counts(&results), [0, 0, 0]);
        assert_eq!(results.flow("rtos_down"), Some(0.0));
    }

    #[test]
    fn a_copy_that_three_duplicate_acks_asked_for_is_a_fast_retransmit() {
        let results = flight(5)
            .at(251.0, "> 101+0 ack 1001 sack 2001-3001")
            .at(252.0, "> 101+0 ack 1001 sack 2001-4001")
            .at(253.0, "> 101+0 ack 1001 sack 2001-5001")
            .at(273.1, "< 1001+1000 ack 101")
            .at(323.2, "> 101+0 ack 6001")
            .run();
        assert_eq!(counts(&results), [0, 1, 0]);
        assert_eq!(results.events("fast_retransmit")[0].value, Some(3.0));
    }

    #[test]
    fn recovery_after_a_queue_of_half_a_second_is_no_timeout() {
        // The copy comes 600 ms after the segment, but as soon as the duplicate ACKs are back.
        let mut script = flight(30);
        for i in 1..30 {
            let right = 2001 + i * 1000;
            let words = format!("> 101+0 ack 1001 sack 2001-{right}");
            script.packet(750.0 + f64::from(i) * 5.0, &words);
        }
        // One lost copy: its loss shows when what was sent after it is reported.
        let results = script
            .at(785.0, "< 1001+1000 ack 101")
            .at(786.0, "< 31001+1000 ack 101")
            .at(1400.0, "> 101+0 ack 1001 sack 2001-32001")
            .at(1420.5, "< 1001+1000 ack 101")
            .run();
        assert_eq!(counts(&results), [0, 1, 0]);
    }

    #[test]
    fn the_last_segment_sent_again_once_is_a_probe_and_no_timeout() {
        let results = flight(3)
            .at(345.0, "< 3001+1000 ack 101")
            .at(395.0, "> 101+0 ack 1001 sack 3001-4001")
            .at(415.0, "< 1001+1000 ack 101")
            .at(415.1, "< 2001+1000 ack 101")
            .run();
        assert_eq!(counts(&results), [0, 1, 1]);
        // The timer had been restarted by the ACK that passed at 150 ms.
        assert_eq!(results.events("tail_loss_probe")[0].value, Some(175.0));
    }

    #[test]
    fn silence_and_the_first_segment_is_a_timeout_and_what_follows_it_is_none() {
        let results = flight(3)
            .at(345.0, "< 3001+1000 ack 101")
            .at(645.0, "< 1001+1000 ack 101")
            .at(695.0, "> 101+0 ack 2001")
            .at(715.0, "< 2001+1000 ack 101")
            .at(715.1, "< 3001+1000 ack 101")
            .run();
        assert_eq!(counts(&results), [1, 0, 1]);
        let rto = &results.events("rto")[0];
        assert_eq!((rto.ms, rto.value), (645.0, Some(300.0)));
        assert_eq!(rto.detail, None);
        assert_eq!(results.flow("rtos_down"), Some(1.0));
        assert_eq!(results.flow("rtos_up"), Some(0.0));
    }

    #[test]
    fn a_timer_that_runs_out_again_is_told_as_repeated() {
        let results = flight(3)
            .at(345.0, "< 3001+1000 ack 101")
            .at(645.0, "< 1001+1000 ack 101")
            .at(1245.0, "< 1001+1000 ack 101")
            .run();
        let rtos = results.events("rto");
        assert_eq!(rtos.len(), 2);
        assert_eq!(rtos[1].value, Some(600.0));
        assert_eq!(rtos[1].detail.as_deref(), Some("repeated"));
    }

    #[test]
    fn what_comes_sooner_than_any_timer_is_no_timeout() {
        let results = flight(2)
            .at(245.0, "< 3001+1000 ack 101")
            .at(300.0, "< 1001+1000 ack 101")
            .at(370.0, "> 101+0 ack 4001")
            .run();
        assert_eq!(counts(&results), [0, 0, 0]);
        let early = &results.events("early_retransmission")[0];
        assert_eq!((early.ms, early.value), (300.0, Some(100.0)));
        assert_eq!(results.flow("rtos_down"), Some(0.0));
    }

    #[test]
    fn a_sack_shortly_before_a_timeout_did_not_restart_its_timer() {
        let results = flight(3)
            .at(345.0, "< 3001+1000 ack 101")
            .at(500.0, "> 101+0 ack 1001 sack 3001-4001")
            .at(645.0, "< 1001+1000 ack 101")
            .run();
        let causes = [
            &results.events("rto"),
            &results.events("early_retransmission"),
        ];
        assert_eq!(causes.map(|events| events.len()), [1, 0], "{causes:?}");
    }

    #[test]
    fn without_sack_there_are_no_probes() {
        let results = Script::default()
            .at(0.0, "> syn 0+0 mss 1460 ws 7")
            .at(20.0, "< syn 0+0 ack 1 mss 1460 ws 7")
            .at(70.0, "> 1+0 ack 1")
            .at(100.0, "< 1+1000 ack 1")
            .at(150.0, "> 1+0 ack 1001")
            .at(200.0, "< 1001+1000 ack 1")
            .at(500.0, "< 1001+1000 ack 1")
            .run();
        assert_eq!(counts(&results), [1, 0, 0]);
    }

    #[test]
    fn a_segment_lost_before_the_monitor_times_out_as_well() {
        let results = flight(1)
            .at(250.0, "> 101+0 ack 2001")
            .at(270.0, "< 3001+1000 ack 101 ts 270 1")
            .at(320.0, "> 101+0 ack 2001 sack 3001-4001")
            .at(720.0, "< 2001+1000 ack 101 ts 720 1")
            .run();
        assert_eq!(counts(&results), [1, 0, 0]);
        // The SACK at 320 ms restarted it, 20 ms later.
        assert_eq!(results.events("rto")[0].value, Some(380.0));
    }

    /// A large flow with a round trip that the queue raises from 70 to 370 ms while one segment is
    /// missing; the sender, deaf to SACKs, times out after 280 ms.
    fn spurious(is_answered_early: bool) -> Results {
        let mut script = Script::opened().at(80.0, "> 1+100 ack 1");
        for i in 0..100 {
            let ms = 100.0 + 80.0 * f64::from(i);
            script.packet(ms, &format!("< {}+1000 ack 101", 1 + i * 1000));
            script.packet(ms + 50.0, &format!("> 101+0 ack {}", 1001 + i * 1000));
        }
        for i in 0..30 {
            let ms = 8100.0 + f64::from(i);
            script.packet(ms, &format!("< {}+1000 ack 101", 100_001 + i * 1000));
        }
        for i in 1..30 {
            let words = format!("> 101+0 ack 100001 sack 101001-{}", 101_001 + i * 1000);
            script.packet(8150.0 + 10.0 * f64::from(i), &words);
        }
        script.packet(8185.0, "< 100001+1000 ack 101");
        script.packet(8465.0, "< 100001+1000 ack 101");
        let answer = if is_answered_early { 8480.0 } else { 8600.0 };
        script.packet(answer, "> 101+0 ack 130001");
        script.run()
    }

    #[test]
    fn a_timeout_that_sack_samples_would_have_outlasted_is_avoidable() {
        let results = spurious(true);
        assert_eq!(results.flow("rtos_down"), Some(1.0));
        assert_eq!(results.flow("avoidable_rtos_down"), Some(1.0));
        assert!(results.texts("rtt", "method").contains(&Some("sack")));
    }

    #[test]
    fn a_timeout_whose_copy_was_needed_is_not() {
        assert_eq!(spurious(false).flow("avoidable_rtos_down"), Some(0.0));
    }
}
