//! What kept a sender from sending more, as shares of the transfer time.
//!
//! # References
//! Zhang et al., "On the Characteristics and Origins of Internet Flow Rates", SIGCOMM 2002 (T-RAT);
//! Siekkinen et al., "A root cause analysis toolkit for TCP", Computer Networks 52(9), 2008.
//!
//! # What we follow
//! Each span between two packets goes to the first of these that held in it:
//!
//! 1. `loss`: from the first copy of a segment until all that was out then is acknowledged;
//! 2. `receive_window`: less than one segment left of the window that the sender knew of;
//! 3. `application`: nothing outstanding, or the last segment was not a full one and an acknowledgment
//!    came since, for longer than the sender takes to answer;
//! 4. the rest by slots of 100 ms: `sender_buffer` if the most bytes in flight stay within two
//!    segments for at least 4 s and 20 round trips (no congestion control does that by itself:
//!    CUBIC's plateau is over in 3.4 s), else `path` if the smallest round trip of the slot stands
//!    over the floor, else `unknown`: the window grows, nothing is in the way yet.
//!
//! # Where we differ
//! T-RAT reads flights, which pacing and queues dissolve; spans need none. It works from either end
//! without the other direction; we have both. A sender that is paced evenly (BBR at one BDP, rate
//! limits of servers) can look like a full sender buffer.
//!
//! Only flows of more than `deep_after` bytes are followed, and only from there on.

use super::known_edge::KnownEdge;
use super::sender::{delay, round_trip_floor};
use super::{Analysis, Context, Findings, Flow};
use crate::tcp::{AckKind, DataKind, Kind, Segment};
use unbloat_table::{RowWriter, SideColumns, side_columns};
use unbloat_units::{Both, Delta, Direction, Seq, Time};

pub(crate) struct Limit;

#[derive(Clone, Default)]
pub(crate) struct Deep {
    sides: Both<Watch>,
}

/// What limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    ReceiveWindow,
    SenderBuffer,
    Application,
    Loss,
    Path,
    Unknown,
}

const CAUSES: [(Cause, &str); 6] = [
    (Cause::ReceiveWindow, "receive_window"),
    (Cause::SenderBuffer, "sender_buffer"),
    (Cause::Application, "application"),
    (Cause::Loss, "loss"),
    (Cause::Path, "path"),
    (Cause::Unknown, "unknown"),
];

/// What holds from one packet to the next.
#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Free,
    Loss,
    Full,
    /// The application may have nothing to send; it has if nothing comes until then.
    IdleFrom(Time),
}

#[derive(Clone, Default)]
struct Watch {
    last: Option<Time>,
    state: State,
    edge: Option<KnownEdge>,
    /// Largest payload: a full segment.
    mss: u32,
    last_data: Time,
    last_is_full_sized: bool,
    /// The first acknowledgment since, which lets the sender send more: before, its window may be full.
    acked: Option<Time>,
    recovery: Option<Seq>,
    slot: Slot,
    run: Run,
    spans: [Delta; CAUSES.len()],
}

/// Up to 100 ms.
#[derive(Clone, Default)]
struct Slot {
    start: Time,
    /// The part that nothing but the slot's own looks can explain.
    free: Delta,
    max_in_flight: u32,
    min_rtt: Option<Delta>,
    queue_stands: bool,
}

/// Slots in which the bytes in flight stayed the same.
#[derive(Clone, Default)]
struct Run {
    in_flight: u32,
    start: Time,
    with_queue: Delta,
    without: Delta,
}

const SLOT: Delta = Delta::ms(100);
const FLAT_FOR: Delta = Delta::secs(4);
const FLAT_ROUND_TRIPS: i64 = 20;
/// Payloads beyond any link's MTU are offloaded: several segments captured as one.
const LARGEST_SEGMENT: u32 = 9_000;
const USUAL_SEGMENT: u32 = 1_460;

impl Watch {
    fn add(&mut self, cause: Cause, span: Delta) {
        self.spans[cause as usize] += span.max(Delta::ZERO);
    }

    /// Gives the span since the last packet to what held in it.
    #[inline]
    fn pass(&mut self, side: Direction, now: Time, flow: &Flow<'_>) {
        let last = self.last.replace(now).unwrap_or_else(|| {
            (self.slot.start, self.run.start, self.last_data) = (now, now, now);
            now
        });
        let span = now.since_bounded(last).max(Delta::ZERO);
        let free_from = match std::mem::take(&mut self.state) {
            State::Free => last,
            State::Loss => {
                self.add(Cause::Loss, span);
                now
            }
            State::Full => {
                let opened = self.opened(side, now, flow).max(last);
                self.add(Cause::ReceiveWindow, opened.since(last));
                opened
            }
            State::IdleFrom(from) => {
                let from = from.max(last).min(now);
                self.add(Cause::Application, now.since(from));
                self.slot.free += from.since(last);
                now
            }
        };
        self.slot.free += now.since_bounded(free_from).max(Delta::ZERO);
        if now.since_bounded(self.slot.start) >= SLOT {
            self.close_slot(side, now, flow);
        }
    }

    /// When the sender learnt of room for a segment, or `now`.
    #[cold]
    fn opened(&mut self, side: Direction, now: Time, flow: &Flow<'_>) -> Time {
        let answer = delay(side, flow);
        let before = flow.half(side).high();
        let mss = self.segment();
        let Some(edge) = &mut self.edge else {
            return now;
        };
        while let Some(at) = edge.learn(now, answer) {
            if edge.known().is_some_and(|e| e.since(before) >= mss) {
                return at;
            }
        }
        now
    }

    #[inline]
    fn segment(&self) -> i32 {
        let is_offloaded = self.mss > LARGEST_SEGMENT;
        (if is_offloaded {
            USUAL_SEGMENT
        } else {
            self.mss
        }) as i32
    }

    /// The side was idle, and an ACK of nothing new changes nothing of that: all that the data of
    /// the other direction say to a side that only receives.
    #[inline]
    fn stays_idle(&self, side: Direction, seg: &Segment<'_>, flow: &Flow<'_>) -> bool {
        let State::IdleFrom(from) = self.state else {
            return false;
        };
        let granted = seg.window.map(|window| seg.header.ack + window);
        let is_known = match &self.edge {
            Some(edge) => edge.is_settled() && (granted.is_none() || granted == edge.known()),
            None => granted.is_none(),
        };
        seg.ack == AckKind::Same
            && self.recovery.is_none()
            && !flow.half(side).is_outstanding()
            && is_known
            && from <= seg.now + delay(side, flow)
    }

    #[inline]
    fn on_data(&mut self, seg: &Segment<'_>, flow: &Flow<'_>) {
        let len = seg.header.payload_len;
        self.mss = self.mss.max(len);
        if len > 0 && seg.advanced > 0 {
            self.last_data = seg.now;
            self.acked = None;
            let segment = self.segment().unsigned_abs();
            // Hardly ever is there anything to divide.
            self.last_is_full_sized = len == segment || len.is_multiple_of(segment);
        }
        if let Some(in_flight) = seg.in_flight {
            self.slot.max_in_flight = self.slot.max_in_flight.max(in_flight);
        }
        if matches!(seg.data, DataKind::Retransmission | DataKind::UpstreamLoss) {
            self.recovery.get_or_insert(flow.half(seg.side).high());
        }
    }

    #[inline]
    fn on_ack(&mut self, seg: &Segment<'_>) {
        if let Some(window) = seg.window {
            let edge = seg.header.ack + window;
            self.edge
                .get_or_insert_with(|| KnownEdge::new(Some(edge)))
                .grant(seg.now, edge);
        }
        if let Some(sample) = seg.rtt {
            let min = self.slot.min_rtt.map_or(sample.rtt, |m| m.min(sample.rtt));
            self.slot.min_rtt = Some(min);
        }
        if seg.acked > 0 {
            self.acked.get_or_insert(seg.now);
        }
        if self.recovery.is_some_and(|end| !end.after(seg.header.ack)) {
            self.recovery = None;
        }
    }

    #[inline(always)]
    fn settle(&mut self, side: Direction, now: Time, flow: &Flow<'_>) {
        let half = flow.half(side);
        let answer = delay(side, flow);
        if let Some(edge) = &mut self.edge {
            while edge.learn(now, answer).is_some() {}
        }
        let room = self.edge.as_ref().and_then(KnownEdge::known);
        let is_full = room.is_some_and(|edge| edge.since(half.high()) < self.segment());
        self.state = if self.recovery.is_some() {
            State::Loss
        } else if is_full {
            State::Full
        } else if !half.is_outstanding() {
            // An ACK needs that long until what it lets go comes by.
            self.idle_from(now + answer)
        } else {
            let acked = self.acked.filter(|_| !self.last_is_full_sized);
            let least = self.last_data + round_trip_floor(side, flow);
            acked.map_or(State::Free, |acked| {
                self.idle_from(least.max(acked + answer))
            })
        };
    }

    /// Once idle, ACKs do not move the beginning.
    fn idle_from(&self, from: Time) -> State {
        match self.state {
            State::IdleFrom(before) => State::IdleFrom(before.min(from)),
            _ => State::IdleFrom(from),
        }
    }

    #[cold]
    fn close_slot(&mut self, side: Direction, now: Time, flow: &Flow<'_>) {
        let slot = std::mem::take(&mut self.slot);
        self.slot.start = now;
        let floor = flow.half(side).rtt_floor().unwrap_or(Delta::ZERO);
        // A slot without a sample is as the one before it.
        let queue_stands = slot.min_rtt.map_or(slot.queue_stands, |rtt| {
            rtt > floor + floor / 4 + Delta::ms(2)
        });
        self.slot.queue_stands = queue_stands;
        let tolerance = 2 * self.segment().unsigned_abs();
        let is_same = slot.max_in_flight.abs_diff(self.run.in_flight) <= tolerance;
        let is_free = slot.free * 2 >= now.since(slot.start);
        if !is_same || !is_free {
            self.end_run(side, slot.start, flow);
            self.run = Run {
                in_flight: slot.max_in_flight,
                start: slot.start,
                ..Run::default()
            };
        }
        if queue_stands {
            self.run.with_queue += slot.free;
        } else {
            self.run.without += slot.free;
        }
    }

    fn end_run(&mut self, side: Direction, now: Time, flow: &Flow<'_>) {
        let run = std::mem::take(&mut self.run);
        let long = FLAT_FOR.max(round_trip_floor(side, flow) * FLAT_ROUND_TRIPS);
        if now.since(run.start) >= long {
            self.add(Cause::SenderBuffer, run.with_queue + run.without);
        } else {
            self.add(Cause::Path, run.with_queue);
            self.add(Cause::Unknown, run.without);
        }
    }

    fn finish(&mut self, side: Direction, flow: &Flow<'_>) {
        if self.last.is_some() {
            self.close_slot(side, flow.core.last, flow);
            self.end_run(side, flow.core.last, flow);
        }
    }

    fn shares(&self) -> Option<[f64; CAUSES.len()]> {
        let total: Delta = self.spans.iter().fold(Delta::ZERO, |sum, &s| sum + s);
        (total > Delta::ZERO).then(|| self.spans.map(|s| s.as_secs() / total.as_secs()))
    }
}

impl Deep {
    /// Takes in the packet's own data.
    #[inline(never)]
    fn on_data(&mut self, seg: &Segment<'_>, flow: &Flow<'_>) {
        let watch = &mut self.sides[seg.side];
        watch.pass(seg.side, seg.now, flow);
        watch.on_data(seg, flow);
        watch.settle(seg.side, seg.now, flow);
    }

    /// Takes in its ACK.
    #[inline(never)]
    fn on_ack(&mut self, seg: &Segment<'_>, flow: &Flow<'_>) {
        let acked = seg.side.reverse();
        let watch = &mut self.sides[acked];
        // The time of a side runs from its first data on, until its last.
        if watch.last.is_none() {
            return;
        }
        // Idle time counts once data ends it: after the last data there is no transfer.
        if !matches!(watch.state, State::IdleFrom(_)) {
            watch.pass(acked, seg.now, flow);
        }
        watch.on_ack(seg);
        watch.settle(acked, seg.now, flow);
    }
}

/// The cause with the largest share of at least a third.
fn strongest(shares: [f64; CAUSES.len()]) -> &'static str {
    let known = CAUSES.iter().filter(|(cause, _)| *cause != Cause::Unknown);
    let best = known.max_by(|a, b| shares[a.0 as usize].total_cmp(&shares[b.0 as usize]));
    best.filter(|(cause, _)| shares[*cause as usize] >= 1.0 / 3.0)
        .map_or("unknown", |(_, name)| name)
}

side_columns! {
    pub struct LimitColumns<'a> {
        limit ["limit_" ""]: Option<&'a str> = "what limited the sender most: receive_window, sender_buffer, application, loss, path or unknown; null within deep_after",
        limit_receive_window_share ["limit_" "_receive_window_share"]: Option<f64> = "share of the transfer time",
        limit_sender_buffer_share ["limit_" "_sender_buffer_share"]: Option<f64> = "share of the transfer time",
        limit_application_share ["limit_" "_application_share"]: Option<f64> = "share of the transfer time",
        limit_loss_share ["limit_" "_loss_share"]: Option<f64> = "share of the transfer time",
        limit_path_share ["limit_" "_path_share"]: Option<f64> = "share of the transfer time",
    }
}

impl Analysis for Limit {
    type Light = ();
    type Deep = Deep;
    type Columns = Both<LimitColumns<'static>>;

    fn is_alone(_: &str) -> bool {
        true
    }

    #[inline]
    fn on_packet(
        kind: Kind,
        _: &mut (),
        deep: Option<&mut Deep>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        _: &mut Context<'_>,
    ) {
        match kind {
            Kind::Data => {
                let Some(deep) = deep else { return };
                deep.on_data(seg, flow);
                let acked = seg.side.reverse();
                if !deep.sides[acked].stays_idle(acked, seg, flow) {
                    deep.on_ack(seg, flow);
                }
            }
            Kind::Ack => {
                if let Some(deep) = deep {
                    deep.on_ack(seg, flow);
                }
            }
            Kind::Other => {
                let Some(deep) = deep else { return };
                if seg.header.payload_len > 0 {
                    deep.on_data(seg, flow);
                }
                let acked = &deep.sides[seg.side.reverse()];
                if !matches!(seg.ack, AckKind::None | AckKind::Old)
                    && !acked.stays_idle(seg.side.reverse(), seg, flow)
                {
                    deep.on_ack(seg, flow);
                }
            }
        }
    }

    fn finish(
        _: &mut (),
        deep: Option<&mut Deep>,
        flow: &Flow<'_>,
        _: &mut Findings,
        _: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        let mut deep = deep;
        for side in Direction::BOTH {
            let shares = deep.as_mut().and_then(|deep| {
                let watch = &mut deep.sides[side];
                watch.finish(side, flow);
                watch.shares()
            });
            let share = |cause: Cause| shares.map(|shares| shares[cause as usize]);
            let columns = LimitColumns {
                limit: shares.map(strongest),
                limit_receive_window_share: share(Cause::ReceiveWindow),
                limit_sender_buffer_share: share(Cause::SenderBuffer),
                limit_application_share: share(Cause::Application),
                limit_loss_share: share(Cause::Loss),
                limit_path_share: share(Cause::Path),
            };
            columns.write(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Results, Script};

    /// A receiver that answers every segment of 1,000 bytes after 50 ms and what it waits in a
    /// queue, and a sender that is 20 ms away from the monitor.
    struct Transfer {
        packets: Vec<(f64, String)>,
        seq: u32,
        window: u32,
    }

    impl Transfer {
        fn new(window: u32) -> Transfer {
            Transfer {
                packets: Vec::new(),
                seq: 1,
                window,
            }
        }

        fn segment(&mut self, ms: f64, len: u32, queue_ms: f64) {
            let window = self.window;
            self.packets
                .push((ms, format!("< {}+{len} ack 1", self.seq)));
            self.seq += len;
            let words = format!("> 1+0 ack {} win {window}", self.seq);
            self.packets.push((ms + 50.0 + queue_ms, words));
        }

        fn run(mut self) -> Results {
            let mut script = Script::opened();
            self.packets.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (ms, words) in &self.packets {
                script.packet(*ms, words);
            }
            script.run()
        }
    }

    fn share(results: &Results, cause: &str) -> f64 {
        let share = results.flow(&format!("limit_down_{cause}_share"));
        share.expect("the flow is large enough")
    }

    #[test]
    fn a_window_that_is_always_full_limits() {
        // 157 * 128 = 20,096 bytes: 20 segments, each round trip of 70 ms.
        let mut transfer = Transfer::new(157);
        for i in 0..1000u32 {
            let ms = 100.0 + f64::from(i / 20) * 70.0 + f64::from(i % 20);
            transfer.segment(ms, 1000, 0.0);
        }
        let results = transfer.run();
        assert_eq!(results.flow_text("limit_down"), Some("receive_window"));
        let share = share(&results, "receive_window");
        // Each opening is used at once: all but the 20 ms in which a flight is sent.
        assert!(share > 0.65, "{share}");
    }

    #[test]
    fn the_same_flight_again_and_again_below_the_window_is_a_full_sender_buffer() {
        let mut transfer = Transfer::new(1000);
        for i in 0..2000u32 {
            transfer.segment(100.0 + f64::from(i) * 3.5, 1000, 0.0);
        }
        let results = transfer.run();
        assert_eq!(results.flow_text("limit_down"), Some("sender_buffer"));
        assert!(share(&results, "sender_buffer") > 0.9);
    }

    #[test]
    fn pauses_after_short_segments_are_the_application() {
        let mut transfer = Transfer::new(1000);
        for i in 0..1000u32 {
            let last = i % 20 == 19;
            let ms = 100.0 + f64::from(i / 20) * 1000.0 + f64::from(i % 20);
            transfer.segment(ms, if last { 500 } else { 1000 }, 0.0);
        }
        let results = transfer.run();
        assert_eq!(results.flow_text("limit_down"), Some("application"));
        // One second less a round trip, of each second.
        let share = share(&results, "application");
        assert!((share - 0.91).abs() < 0.02, "{share}");
    }

    #[test]
    fn a_sender_that_waits_for_acknowledgments_is_not_idle_after_a_short_segment() {
        // Two flights are on their way. Their last segments are short, and the next one follows the acknowledgments of the first.
        let mut transfer = Transfer::new(60_000);
        for i in 0..1000u32 {
            let last = i % 20 == 19;
            let ms = 100.0 + f64::from(i / 20) * 300.0 + f64::from(i % 20);
            let queue_ms = if i < 20 { 0.0 } else { 530.0 };
            transfer.segment(ms, if last { 500 } else { 1000 }, queue_ms);
        }
        let results = transfer.run();
        assert_eq!(results.flow_text("limit_down"), Some("sender_buffer"));
        let share = share(&results, "application");
        assert!(share < 0.1, "{share}");
    }

    #[test]
    fn a_queue_that_grows_with_the_window_is_the_path() {
        let mut transfer = Transfer::new(60_000);
        for i in 0..2000u32 {
            let ms = 100.0 + f64::from(i);
            // The link takes 1.5 ms for what comes every 1 ms.
            transfer.segment(ms, 1000, 0.5 * f64::from(i));
        }
        let results = transfer.run();
        assert_eq!(results.flow_text("limit_down"), Some("path"));
        assert!(share(&results, "path") > 0.8);
    }

    #[test]
    fn recovery_is_loss_until_all_that_was_out_is_acknowledged() {
        let mut script = Script::opened();
        for i in 0..100u32 {
            let ms = 100.0 + f64::from(i);
            script.packet(ms, &format!("< {}+1000 ack 1", 1 + i * 1000));
        }
        let results = script
            .at(250.0, "> 1+0 ack 1 sack 1001-100001")
            .at(300.0, "< 1+1000 ack 1")
            .at(1300.0, "> 1+0 ack 100001")
            .at(1320.0, "< 100001+1000 ack 1")
            .at(1321.0, "< 101001+1000 ack 1")
            .run();
        assert_eq!(results.flow_text("limit_down"), Some("loss"));
        assert!(share(&results, "loss") > 0.8);
    }

    #[test]
    fn a_small_flow_is_not_followed() {
        let mut transfer = Transfer::new(1000);
        transfer.segment(100.0, 1000, 0.0);
        let results = transfer.run();
        assert_eq!(results.flow_text("limit_down"), None);
        assert_eq!(results.flow("limit_down_path_share"), None);
    }
}
