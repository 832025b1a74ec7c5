//! What the receiver's window did to a transfer (§7.2, Fig. 23).
//!
//! # What we follow
//! A window is full when less than one segment of it is left. The paper's own example stands still
//! with 816 of 1,358 bytes left, so an exact fit (tshark) is not what it means.
//!
//! # Where we differ
//! | others | here | why |
//! |---|---|---|
//! | window compared with what the monitor sees in flight | with what the sender knew: each ACK counts one monitor-to-sender round trip later | away from the sender, a full window looks open for most of the time |
//! | scale unknown: taken as 0 (tcptrace), or never full (tshark) | unknown | both SYNs must have been seen |
//! | zero windows counted per packet | per time that the window closed | a probe a second must not count as trouble of its own |
//!
//! The segment size is the smaller one of what the two ends offered, or the largest payload seen.

use super::known_edge::KnownEdge;
use super::{Analysis, Context, Event, Findings, Flow};
use crate::tcp::{Kind, Segment};
use unbloat_table::{RowWriter, SideColumns, side_columns};
use unbloat_units::{Both, Delta, Direction, Time};
use unbloat_wire::{TcpOption, TcpOptions};

pub(crate) struct Window;

#[derive(Clone, Default)]
pub(crate) struct Light {
    /// Window field of the receiver's first packet after its SYN; zero before it.
    initial: Both<u16>,
    mss: u16,
    mss_offered: bool,
    /// Present once half a window was in flight, or the window fell below one segment.
    watch: Option<Box<Both<Watch>>>,
}

#[derive(Clone, Default)]
struct Watch {
    edge: KnownEdge,
    full: Periods,
    zero: Periods,
    stalled: Periods,
}

/// Times in which something held.
#[derive(Clone, Default)]
struct Periods {
    since: Option<Time>,
    first: Option<Time>,
    total: Delta,
    count: u32,
    /// Start and end of the one that is not written yet: the next may follow so soon that they are
    /// one to the reader.
    pending: Option<(Time, Time)>,
    written: u32,
}

/// Periods closer than this are written as one.
const MERGE: Delta = Delta::ms(100);
/// Rows of one kind that one side of a flow may have; counts and shares go on.
const MAX_ROWS: u32 = 64;

/// What periods are called in the events table, and where.
struct Label<'a, 'f> {
    kind: &'static str,
    side: Direction,
    flow: &'a Flow<'f>,
}

impl Periods {
    #[inline]
    fn holds(&self) -> bool {
        self.since.is_some()
    }

    #[inline(never)]
    fn begin(&mut self, now: Time) {
        if self.since.is_none() {
            self.since = Some(now);
            self.first.get_or_insert(now);
            self.count += 1;
        }
    }

    #[inline(never)]
    fn end(&mut self, now: Time, label: &Label<'_, '_>, cx: &mut Context<'_>) {
        let Some(since) = self.since.take() else {
            return;
        };
        self.total += now.since(since).max(Delta::ZERO);
        match &mut self.pending {
            Some((_, end)) if since.since(*end) < MERGE => *end = now,
            _ => {
                self.write(label, cx);
                self.pending = Some((since, now));
            }
        }
    }

    fn write(&mut self, label: &Label<'_, '_>, cx: &mut Context<'_>) {
        let Some((start, end)) = self.pending.take() else {
            return;
        };
        self.written += 1;
        if self.written > MAX_ROWS {
            return;
        }
        let event = Event {
            side: label.side,
            time: start,
            kind: label.kind,
            seq: None,
            value: Some(end.since(start).as_ms()),
            detail: (self.written == MAX_ROWS).then_some("later ones of this flow are not listed"),
        };
        cx.event(label.flow, event);
    }

    fn finish(&mut self, now: Time, label: &Label<'_, '_>, cx: &mut Context<'_>) {
        self.end(now, label, cx);
        self.write(label, cx);
    }
}

impl Watch {
    /// Takes in an ACK of the data of the side.
    #[inline]
    fn on_ack(&mut self, seg: &Segment<'_>, mss: u16, flow: &Flow<'_>, cx: &mut Context<'_>) {
        match seg.window {
            Some(window) if self.stays_open(window, mss) => {
                self.edge.grant(seg.now, seg.header.ack + window);
            }
            _ => self.on_window(seg, mss, flow, cx),
        }
    }

    /// Takes in data of the side that lie beyond all before.
    fn on_data(&mut self, seg: &Segment<'_>, mss: u16, flow: &Flow<'_>, cx: &mut Context<'_>) {
        if self.on_time(seg.side, seg.now, mss, flow, cx) {
            self.full.begin(seg.now);
        }
    }

    /// A window of this size is open, as the last one was.
    #[inline]
    fn stays_open(&self, window: u32, mss: u16) -> bool {
        window >= u32::from(mss.max(1)) && !self.zero.holds() && !self.stalled.holds()
    }

    /// Takes in a window granted to the data of `side`.
    #[cold]
    fn on_window(&mut self, seg: &Segment<'_>, mss: u16, flow: &Flow<'_>, cx: &mut Context<'_>) {
        let side = seg.side.reverse();
        let label = |kind| Label { kind, side, flow };
        if seg.header.window == 0 {
            self.zero.begin(seg.now);
        } else if self.zero.holds() {
            self.zero.end(seg.now, &label("zero_window"), cx);
        }
        let Some(window) = seg.window else { return };
        if window >= u32::from(mss) {
            if self.stalled.holds() {
                self.stalled.end(seg.now, &label("reader_stall"), cx);
            }
        } else if seg.acked > 0 || seg.remaining > 0 {
            self.stalled.begin(seg.now);
        }
        self.edge.grant(seg.now, seg.header.ack + window);
    }

    /// Looks at what the sender of `side` could still send at `now`.
    #[inline]
    fn on_time(
        &mut self,
        side: Direction,
        now: Time,
        mss: u16,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) -> bool {
        let high = flow.half(side).high();
        let is_full =
            |edge: &KnownEdge| edge.known().is_some_and(|e| e.since(high) < i32::from(mss));
        let delay = flow.half(side.reverse()).rtt_floor().unwrap_or(Delta::ZERO);
        while let Some(known_at) = self.edge.learn(now, delay) {
            if self.full.holds() && !is_full(&self.edge) {
                let label = Label {
                    kind: "full_window",
                    side,
                    flow,
                };
                self.full.end(known_at, &label, cx);
            }
        }
        is_full(&self.edge)
    }
}

/// What was granted so far, the sender is taken to know.
#[cold]
fn begin(flow: &Flow<'_>) -> Box<Both<Watch>> {
    Box::new(Both::of(|side| {
        let half = flow.half(side);
        let window = half.window();
        let edge = half.acked().zip(window).map(|(ack, w)| ack + w);
        Watch {
            edge: KnownEdge::new(edge),
            ..Watch::default()
        }
    }))
}

impl Light {
    #[cold]
    fn on_syn(&mut self, seg: &Segment<'_>) {
        let offered = TcpOptions::new(seg.options).find_map(|option| match option {
            TcpOption::MaxSegmentSize(mss) => Some(mss),
            _ => None,
        });
        if let Some(mss) = offered.filter(|&mss| mss > 0) {
            self.mss = if self.mss_offered {
                self.mss.min(mss)
            } else {
                mss
            };
            self.mss_offered = true;
        }
    }

    #[inline]
    fn note_mss(&mut self, seg: &Segment<'_>) {
        if !self.mss_offered {
            let payload = seg.header.payload_len.min(u32::from(u16::MAX)) as u16;
            self.mss = self.mss.max(payload);
        }
    }

    #[inline]
    fn note_initial(&mut self, seg: &Segment<'_>) {
        let initial = &mut self.initial[seg.side.reverse()];
        if *initial == 0 && seg.header.tcp_flags.ack() {
            *initial = seg.header.window;
        }
    }

    #[inline]
    fn is_watch_due(&self, seg: &Segment<'_>, flow: &Flow<'_>) -> bool {
        let has_ack = seg.header.tcp_flags.ack() && !seg.header.tcp_flags.rst();
        has_ack && self.is_closing(seg) || seg.advanced > 0 && is_half_used(seg, flow)
    }

    /// The window that the packet grants falls below one segment.
    #[inline]
    fn is_closing(&self, seg: &Segment<'_>) -> bool {
        match seg.window {
            Some(window) => window < u32::from(self.mss.max(1)),
            None => seg.header.window == 0,
        }
    }

    fn watch(&mut self, seg: &Segment<'_>, flow: &Flow<'_>, cx: &mut Context<'_>) {
        let mss = self.mss;
        let sides = self.watch.get_or_insert_with(|| begin(flow));
        let flags = seg.header.tcp_flags;
        if flags.ack() && !flags.syn() && !flags.rst() {
            sides[seg.side.reverse()].on_ack(seg, mss, flow, cx);
        }
        if seg.advanced > 0 {
            sides[seg.side].on_data(seg, mss, flow, cx);
        }
    }
}

/// Half a window of what the packet's sender may send is in flight.
#[inline]
fn is_half_used(seg: &Segment<'_>, flow: &Flow<'_>) -> bool {
    let window = flow.half(seg.side).window();
    seg.in_flight
        .zip(window)
        .is_some_and(|(in_flight, window)| in_flight > window / 2)
}

side_columns! {
    pub struct WindowColumns {
        window_initial_bytes ["window_" "_initial_bytes"]: Option<u64> = "receive window for this side's data, as granted first after the SYNs (section 7.2)",
        full_window_share ["full_window_" "_share"]: Option<f64> = "share of the transfer time in which less than one segment of it was left; null if the scale is unknown",
        full_window_first_pct ["full_window_" "_first_pct"]: Option<f64> = "when that was so first, in % of the flow's duration",
        zero_windows ["zero_windows_" ""]: Option<u64> = "times that the receiver closed the window",
        reader_stalls ["reader_stalls_" ""]: Option<u64> = "times that it fell below one segment while data came: the application did not read",
        window_scale_known ["window_scale_" "_known"]: Option<bool> = "both SYNs were seen",
    }
}

impl Analysis for Window {
    type Light = Light;
    type Deep = ();
    type Columns = Both<WindowColumns>;

    #[inline]
    fn on_packet(
        kind: Kind,
        light: &mut Light,
        _: Option<&mut ()>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        match kind {
            Kind::Data => {
                light.note_mss(seg);
                light.note_initial(seg);
                if let Some(sides) = &mut light.watch {
                    sides[seg.side.reverse()].on_ack(seg, light.mss, flow, cx);
                    sides[seg.side].on_data(seg, light.mss, flow, cx);
                } else if light.is_closing(seg) || is_half_used(seg, flow) {
                    light.watch(seg, flow, cx);
                }
            }
            Kind::Ack => {
                light.note_initial(seg);
                if let Some(sides) = &mut light.watch {
                    sides[seg.side.reverse()].on_ack(seg, light.mss, flow, cx);
                } else if light.is_closing(seg) {
                    light.watch(seg, flow, cx);
                }
            }
            Kind::Other => {
                let flags = seg.header.tcp_flags;
                if flags.syn() {
                    light.on_syn(seg);
                    return;
                }
                light.note_mss(seg);
                light.note_initial(seg);
                if light.watch.is_some() || light.is_watch_due(seg, flow) {
                    light.watch(seg, flow, cx);
                }
            }
        }
    }

    fn finish(
        light: &mut Light,
        _: Option<&mut ()>,
        flow: &Flow<'_>,
        findings: &mut Findings,
        cx: &mut Context<'_>,
        row: &mut RowWriter<'_>,
    ) {
        let mut sides = light.watch.take();
        for side in Direction::BOTH {
            let half = flow.half(side);
            let shift = half.window_shift();
            let known = flow.is_tcp() && half.span().is_some();
            let mut watch = sides.as_mut().map(|s| &mut s[side]);
            if let Some(watch) = &mut watch {
                let end = flow.core.payload_span().map_or(flow.core.last, |(_, l)| l);
                let label = |kind| Label { kind, side, flow };
                watch.full.finish(end, &label("full_window"), cx);
                watch.zero.finish(flow.core.last, &label("zero_window"), cx);
                let stalled = label("reader_stall");
                watch.stalled.finish(flow.core.last, &stalled, cx);
            }
            let full = watch.as_ref().map(|w| &w.full);
            let total = full.map_or(Delta::ZERO, |f| f.total);
            let transfer = flow.core.transfer_time();
            let share = (known && shift.is_some() && transfer > Delta::ZERO)
                .then(|| (total.as_secs() / transfer.as_secs()).min(1.0));
            findings.sides[side].full_window_share = share;
            let initial = Some(light.initial[side]).filter(|&w| w > 0);
            let first = full.and_then(|f| f.first);
            let duration = flow.core.duration().as_secs();
            let pct = |time: Time| 100.0 * time.since(flow.core.start).as_secs() / duration;
            let count = |n: Option<u32>| known.then(|| u64::from(n.unwrap_or(0)));
            let stalls = count(watch.as_ref().map(|w| w.stalled.count));
            let columns = WindowColumns {
                window_initial_bytes: initial.zip(shift).map(|(w, s)| u64::from(w) << s),
                full_window_share: share,
                full_window_first_pct: first.map(pct).filter(|p| p.is_finite()),
                zero_windows: count(watch.as_ref().map(|w| w.zero.count)),
                reader_stalls: stalls.filter(|_| shift.is_some()),
                window_scale_known: flow.is_tcp().then_some(shift.is_some()),
            };
            columns.write(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Script;

    /// A receiver with a window of 4 segments of 1,000 bytes (scale 7 would make the field 31.25:
    /// 32 is 4,096), filled at once and opened as it reads.
    fn limited(handshake: Script) -> Script {
        let mut script = handshake;
        for round in 0..5 {
            let ms = 100.0 + 70.0 * f64::from(round);
            let first = 1 + round * 4000;
            for i in 0..4 {
                let words = format!("< {}+1000 ack 1", first + i * 1000);
                script.packet(ms + f64::from(i) * 0.1, &words);
            }
            let ack = first + 4000;
            script.packet(ms + 50.0, &format!("> 1+0 ack {ack} win 32"));
        }
        script
    }

    fn handshake(window: &str) -> Script {
        Script::default()
            .at(0.0, "> syn 0+0 mss 1000 ws 7")
            .at(20.0, "< syn 0+0 ack 1 mss 1460 ws 7")
            .at(70.0, &format!("> 1+0 ack 1 win {window}"))
    }

    #[test]
    fn a_transfer_limited_by_its_window_is_full_for_nearly_all_its_time() {
        let results = limited(handshake("32")).run();
        assert_eq!(results.flow("window_down_initial_bytes"), Some(4096.0));
        let share = results.flow("full_window_down_share").unwrap();
        assert!(share > 0.98, "{share}");
        // Full from the last byte of the first round, 100.3 of 430 ms.
        let first = results.flow("full_window_down_first_pct").unwrap();
        assert!((first - 23.3).abs() < 0.1, "{first}");
        let full = results.events("full_window");
        assert_eq!(full.len(), 1, "merged: {full:?}");
        assert_eq!(results.flow("zero_windows_down"), Some(0.0));
    }

    #[test]
    fn without_the_scale_nothing_is_said_of_a_full_window() {
        let without_syns = Script::default().at(70.0, "> 1+0 ack 1 win 32");
        let results = limited(without_syns).run();
        assert_eq!(results.flow("window_scale_down_known"), Some(0.0));
        assert_eq!(results.flow("full_window_down_share"), None);
        assert_eq!(results.flow("window_down_initial_bytes"), None);
        assert_eq!(results.flow("reader_stalls_down"), None);
        assert_eq!(results.flow("zero_windows_down"), Some(0.0));
    }

    #[test]
    fn a_wide_window_is_never_full() {
        let results = Script::opened()
            .at(100.0, "< 1+1448 ack 1")
            .at(150.0, "> 1+0 ack 1449")
            .at(300.0, "< 1449+1448 ack 1")
            .run();
        assert_eq!(results.flow("full_window_down_share"), Some(0.0));
        assert_eq!(results.flow("full_window_down_first_pct"), None);
        assert_eq!(results.flow("window_down_initial_bytes"), Some(128_000.0));
    }

    #[test]
    fn a_reader_that_stops_closes_the_window_once_however_often_it_is_probed() {
        let results = handshake("16")
            .at(100.0, "< 1+1000 ack 1")
            .at(100.1, "< 1001+1000 ack 1")
            .at(150.0, "> 1+0 ack 2001 win 0")
            .at(400.0, "< 2000+0 ack 1")
            .at(450.0, "> 1+0 ack 2001 win 0")
            .at(1150.0, "> 1+0 ack 2001 win 100")
            .at(1170.0, "< 2001+1000 ack 1")
            .run();
        assert_eq!(results.flow("zero_windows_down"), Some(1.0));
        assert_eq!(results.flow("reader_stalls_down"), Some(1.0));
        for kind in ["zero_window", "reader_stall"] {
            let event = &results.events(kind)[0];
            assert_eq!((event.ms, event.value), (150.0, Some(1000.0)), "{kind}");
        }
    }

    #[test]
    fn rows_are_capped_and_the_last_one_says_so() {
        let mut script = handshake("16");
        for i in 0..100 {
            let ms = 1000.0 * f64::from(i + 1);
            let seq = 1 + i * 2000;
            script.packet(ms, &format!("< {seq}+2000 ack 1"));
            script.packet(ms + 50.0, &format!("> 1+0 ack {} win 0", seq + 2000));
            script.packet(ms + 500.0, &format!("> 1+0 ack {} win 16", seq + 2000));
        }
        let results = script.run();
        assert_eq!(results.flow("zero_windows_down"), Some(100.0));
        let rows = results.events("zero_window");
        assert_eq!(rows.len(), 64);
        assert!(rows[63].detail.is_some() && rows[62].detail.is_none());
    }
}
