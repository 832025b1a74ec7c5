//! Evidence of standing queues, for the verdict: see [`crate::standing`].

use super::volume::address_text;
use super::{Analysis, Context, Findings, Flow};
use crate::standing::{Evidence, Facts, Recorder, Spin, WINDOW, evidence};
use crate::tables::{StandingRow, order};
use crate::tcp::{Kind, Segment};
use unbloat_table::RowWriter;
use unbloat_units::{Both, Delta, Direction};

pub(crate) struct Standing;

/// Of flows that said more than a SYN.
#[derive(Clone, Default)]
pub(crate) struct Light {
    recorder: Option<Box<Recorder>>,
}

impl Light {
    /// Whether a window is whole since they were last judged.
    pub(crate) fn has_windows(&self) -> bool {
        let recorder = self.recorder.as_ref();
        recorder.is_some_and(|recorder| recorder.has_windows())
    }

    /// Writes what the windows say so far, and takes them.
    pub(crate) fn judge(&mut self, flow: &Flow<'_>, cx: &mut Context<'_>) {
        if let Some(recorder) = &mut self.recorder {
            write(recorder, false, flow, cx);
        }
    }
}

impl Analysis for Standing {
    type Light = Light;
    type Deep = ();
    type Columns = ();

    #[inline]
    fn on_packet(
        _: Kind,
        light: &mut Light,
        _: Option<&mut ()>,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        cx: &mut Context<'_>,
    ) {
        let flags = seg.header.tcp_flags;
        if light.recorder.is_none() && (flags.rst() || flags.syn() && !flags.ack()) {
            return;
        }
        let recorder = light.recorder.get_or_insert_default();
        if recorder.on_packet(seg, flow, cx.origin, cx.user.load()) {
            write(recorder, false, flow, cx);
        }
    }

    fn finish(
        light: &mut Light,
        _: Option<&mut ()>,
        flow: &Flow<'_>,
        _: &mut Findings,
        cx: &mut Context<'_>,
        _: &mut RowWriter<'_>,
    ) {
        if let Some(recorder) = &mut light.recorder {
            write(recorder, true, flow, cx);
            recorder.leave(cx.user.load());
        }
    }
}

/// Writes what the recorder's windows say, and takes them.
#[inline(never)]
fn write(recorder: &mut Recorder, is_over: bool, flow: &Flow<'_>, cx: &mut Context<'_>) {
    let floors = Both::of(|side| flow.half(side).rtt_floor());
    let facts = Facts {
        rtt_floor: floors.down.zip(floors.up).map(|(down, up)| down + up),
        is_begin_seen: Direction::BOTH.iter().any(|&s| flow.half(s).is_syn_seen()),
        is_over,
        is_told_always: cx.params.standing_of_all_flows,
        felt: cx.params.bloat_threshold / 2,
    };
    let all = evidence(recorder, &facts, cx.user.load());
    rows(all.iter(), &facts, flow, cx);
}

/// The same of a QUIC connection, if its spin bit spins.
pub(crate) fn write_spun(spin: &mut Spin, is_over: bool, flow: &Flow<'_>, cx: &mut Context<'_>) {
    let facts = spin.facts(is_over, cx.params);
    let is_spinning = spin.is_spinning();
    let all = evidence(spin.recorder(), &facts, cx.user.load());
    rows(all.iter().filter(|_| is_spinning), &facts, flow, cx);
}

fn rows<'e>(
    all: impl Iterator<Item = &'e Evidence>,
    facts: &Facts,
    flow: &Flow<'_>,
    cx: &mut Context<'_>,
) {
    let mut ends = None;
    for found in all {
        let core = flow.core;
        let ends =
            ends.get_or_insert_with(|| (address_text(core.client), address_text(core.server)));
        row(found, ends, facts, flow, cx);
    }
}

fn row(
    found: &Evidence,
    (client, server): &(String, String),
    facts: &Facts,
    flow: &Flow<'_>,
    cx: &mut Context<'_>,
) {
    let start = |window: u32| i64::from(window) * WINDOW.as_ns();
    let end = |window: u32| start(window) + WINDOW.as_ns();
    let core = flow.core;
    let standing = found.standing;
    let [think, wake, power_save, ack, hold, jitter] = found.waits;
    let Evidence { ahead, back, .. } = found;
    let row = StandingRow {
        flow_id: core.flow_id,
        client,
        client_port: core.client_port,
        server,
        server_port: core.server_port,
        direction: found.leg,
        start_ns: start(found.span.0),
        end_ns: end(found.span.1),
        rtt_floor_ms: facts.rtt_floor.map(Delta::as_ms),
        floor_seen: found.is_floor_seen,
        samples: found.samples,
        sharp_samples: found.sharp,
        windows: found.windows,
        low_windows: found.low,
        standing_windows: standing.map_or(0, |s| s.windows),
        standing_start_ns: standing.map(|s| start(s.span.0)),
        standing_end_ns: standing.map(|s| end(s.span.1)),
        standing_p50_ms: standing.map(|s| s.p50_ms),
        standing_p95_ms: standing.map(|s| s.p95_ms),
        standing_held_ms: standing.map(|s| s.held_ms),
        low_before_windows: standing.map(|s| s.low_before),
        level_share: standing.map(|s| s.level_share),
        step_share: standing.and_then(|s| s.step_share),
        back_share: standing.and_then(|s| s.back_share),
        step_ms: found.step.map(Delta::as_ms),
        think_samples: think.samples,
        think_p50_ms: think.median_ms,
        wake_samples: wake.samples,
        wake_p50_ms: wake.median_ms,
        power_save_samples: power_save.samples,
        power_save_p50_ms: power_save.median_ms,
        ack_samples: ack.samples,
        ack_p50_ms: ack.median_ms,
        hold_samples: hold.samples,
        hold_p50_ms: hold.median_ms,
        jitter_samples: jitter.samples,
        jitter_p50_ms: jitter.median_ms,
        ahead_peak_bps: ahead.peak_bps,
        ahead_standing_bps: ahead.standing_bps,
        ahead_own_standing_bps: ahead.own_standing_bps,
        ahead_before_bps: ahead.before_bps,
        ahead_steadiness: ahead.steadiness,
        ahead_coupling: ahead.coupling,
        ahead_lost_packets: ahead.lost,
        ahead_busy_windows: ahead.busy,
        back_peak_bps: back.peak_bps,
        back_standing_bps: back.standing_bps,
        back_own_standing_bps: back.own_standing_bps,
        back_before_bps: back.before_bps,
        back_steadiness: back.steadiness,
        back_coupling: back.coupling,
        back_lost_packets: back.lost,
        back_busy_windows: back.busy,
    };
    let order = order(cx.number, core.flow_id);
    cx.tables.standing.push(order, row);
}

#[cfg(test)]
mod tests {
    use crate::testing::{Results, Script};

    /// Segments of a download: when each is sent, and what it waits in the queue.
    struct Download {
        every_ms: f64,
        segments: u32,
        /// Which packets are captured: "<" of the server, ">" of the client.
        captured: &'static [&'static str],
        has_stamps: bool,
        is_captured_at_client: bool,
        /// The client acknowledges each segment, not every second.
        acks_all: bool,
        /// This segment never comes to the client, which reports three hundred later ones by SACK before a copy comes.
        lost: u32,
    }

    const WAY_MS: f64 = 20.0;

    impl Default for Download {
        fn default() -> Download {
            Download {
                every_ms: 5.0,
                segments: 1_000,
                captured: &["<", ">"],
                has_stamps: true,
                is_captured_at_client: false,
                acks_all: false,
                lost: u32::MAX,
            }
        }
    }

    impl Download {
        fn seen(&self, queue_ms: impl Fn(f64) -> f64) -> Results {
            self.script(queue_ms).run()
        }

        /// The client acknowledges every second segment at once; `queue_ms` is what a segment that is
        /// sent then waits.
        fn script(&self, queue_ms: impl Fn(f64) -> f64) -> Script {
            let stamps = |own: f64, echo: f64| match self.has_stamps {
                true => format!(" ts {} {}", 10_000 + own as u32, 10_000 + echo as u32),
                false => String::new(),
            };
            let answered_ms = if self.is_captured_at_client {
                1.0 + 2.0 * WAY_MS
            } else {
                1.0
            };
            let mut packets = vec![
                (0.0, format!("> syn 0+0 mss 1448{}", stamps(0.0, 0.0))),
                (
                    answered_ms,
                    format!("< syn 0+0 ack 1 mss 1448{}", stamps(1.0, 0.0)),
                ),
                (
                    2.0 * WAY_MS + 1.0,
                    format!("> 1+0 ack 1{}", stamps(41.0, 1.0)),
                ),
            ];
            let (mut echo, mut at_client) = (0.0, 0.0_f64);
            // What the client stamped, and when that is at the server.
            let mut heard = vec![(0.0, 0.0), (answered_ms + WAY_MS, 41.0)];
            for n in 0..self.segments {
                let sent = 50.0 + f64::from(n) * self.every_ms;
                at_client = at_client.max(sent + WAY_MS + queue_ms(sent));
                let seen_ms = if self.is_captured_at_client {
                    at_client
                } else {
                    sent
                };
                let first = 1 + n * 1448;
                let newest = heard.partition_point(|&(at, _)| at <= sent) - 1;
                packets.push((
                    seen_ms,
                    format!("< {first}+1448 ack 1{}", stamps(sent, heard[newest].1)),
                ));
                let is_missing = n > self.lost && n - self.lost <= 300;
                if n.checked_sub(self.lost) == Some(300) {
                    let copy = 1 + self.lost * 1448;
                    packets.push((
                        seen_ms,
                        format!("< {copy}+1448 ack 1{}", stamps(sent, 41.0)),
                    ));
                }
                let is_second = n % 2 == 1 || self.acks_all || is_missing;
                if n == self.lost || !is_second {
                    echo = if n == self.lost { echo } else { sent };
                    continue;
                }
                let back_ms = if self.is_captured_at_client {
                    0.0
                } else {
                    WAY_MS
                };
                let echo = match self.acks_all && !is_missing {
                    true => sent,
                    false => echo,
                };
                let end = first + 1448;
                let ack = match is_missing {
                    true => {
                        let hole = 1 + self.lost * 1448;
                        format!("{hole} sack {}-{end}", hole + 1448)
                    }
                    false => end.to_string(),
                };
                let ack = format!("> 1+0 ack {ack}{}", stamps(at_client, echo));
                heard.push((at_client + WAY_MS, at_client));
                packets.push((at_client + back_ms, ack));
            }
            packets.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut script = Script::default();
            let seen = |words: &str| self.captured.iter().any(|way| words.starts_with(way));
            for (ms, words) in packets.iter().filter(|(_, words)| seen(words)) {
                script.packet(*ms, words);
            }
            script
        }
    }

    /// Rows of `standing` by what they are of, and whether anything follows from them.
    fn told(script: Script) -> Vec<(String, bool)> {
        let results = script.run();
        let numbers = |name: &str| results.values("standing", name);
        let kinds = ["think", "wake", "power_save", "ack", "hold", "jitter"];
        let samples = kinds.map(|kind| numbers(&format!("{kind}_samples")));
        let (stood, steps) = (numbers("standing_windows"), numbers("step_ms"));
        let legs = results.texts("standing", "direction");
        let row = |at: usize| {
            let is_late = samples.iter().any(|of| of[at] > Some(0.0));
            let follows = is_late || stood[at] > Some(0.0) || steps[at].is_some();
            (format!("{:?}", legs[at]), follows)
        };
        (0..stood.len()).map(row).collect()
    }

    /// The median of the delay that stood, where the sender sends `stretch` segments at once, as many as each acknowledgment covers, and
    /// acknowledgments lag its bursts by `phase` segments. A segment takes 1.2 ms on the link; from the first second on, a burst finds a
    /// queue of 100 ms.
    fn behind_stretched_acks(stretch: u32, phase: u32) -> f64 {
        const ON_LINK_MS: f64 = 1.2;
        let mut packets = vec![
            (0.0, "> syn 0+0 mss 1448".to_owned()),
            (1.0, "< syn 0+0 ack 1 mss 1448".to_owned()),
            (2.0 * WAY_MS + 1.0, "> 1+0 ack 1".to_owned()),
        ];
        for n in 0..5_000 {
            let sent = 50.0 + f64::from(n / stretch * stretch) * ON_LINK_MS;
            let queue_ms = if sent < 1_000.0 { 0.0 } else { 100.0 };
            let (first, end) = (1 + n * 1448, 1 + (n + 1) * 1448);
            packets.push((sent, format!("< {first}+1448 ack 1")));
            if (n + phase) % stretch == stretch - 1 {
                let behind = f64::from(n % stretch + 1) * ON_LINK_MS;
                let answered = sent + queue_ms + behind + 2.0 * WAY_MS;
                packets.push((answered, format!("> 1+0 ack {end}")));
            }
        }
        packets.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut script = Script::default();
        for (ms, words) in &packets {
            script.packet(*ms, words);
        }
        let told = script.run().values("standing", "standing_p50_ms");
        told.into_iter().flatten().next().unwrap()
    }

    #[test]
    fn a_burst_is_no_queue_wherever_its_acknowledgments_cut_it() {
        for stretch in [6, 16, 44, 64] {
            for phase in [0, 1, stretch / 3, stretch - 2] {
                let ms = behind_stretched_acks(stretch, phase);
                assert!((92.0..=108.0).contains(&ms), "{stretch} {phase}: {ms}");
            }
        }
    }

    #[test]
    fn a_queue_is_measured_while_a_loss_is_repaired() {
        let results = Download {
            lost: 500,
            ..Download::default()
        }
        .seen(|ms| {
            if (2_550.0..4_050.0).contains(&ms) {
                200.0
            } else {
                100.0
            }
        });
        let p95_ms = results.values("standing", "standing_p95_ms")[0];
        assert!((195.0..=205.0).contains(&p95_ms.unwrap()), "{p95_ms:?}");
    }

    #[test]
    fn what_stands_only_while_a_loss_is_repaired_does_not_convict() {
        let results = Download {
            lost: 500,
            ..Download::default()
        }
        .seen(|ms| {
            if (2_550.0..4_050.0).contains(&ms) {
                100.0
            } else {
                0.0
            }
        });
        assert_eq!(stood(&results, "down"), (0.0, None));
    }

    #[test]
    fn flows_from_which_nothing_follows_have_no_rows() {
        let queues: [fn(f64) -> f64; 3] = [|_| 0.0, |ms| (ms / 2.0).min(150.0), growing];
        let mut silent = 0;
        for segments in [4, 10, 40, 100, 150, 200, 400, 1_000] {
            for (queue, has_stamps) in queues.iter().flat_map(|q| [(q, true), (q, false)]) {
                let download = Download {
                    segments,
                    has_stamps,
                    ..Download::default()
                };
                let all = told(download.script(queue));
                let usual = download.script(queue);
                let usual = told(usual.with(|params| params.standing_of_all_flows = false));
                if usual.is_empty() {
                    silent += usize::from(!all.is_empty());
                    assert!(
                        all.iter().all(|(_, follows)| !follows),
                        "{segments}: {all:?}"
                    );
                } else {
                    assert_eq!(usual, all, "{segments} segments");
                }
            }
        }
        assert!(silent >= 10, "{silent} flows");
    }

    /// Windows in which the delay of a leg stood, and its median.
    fn stood(results: &Results, leg: &str) -> (f64, Option<f64>) {
        let legs = results.texts("standing", "direction");
        let Some(row) = (0..legs.len()).find(|&row| legs[row] == Some(leg)) else {
            return (0.0, None);
        };
        let windows = results.values("standing", "standing_windows")[row];
        (
            windows.unwrap_or(0.0),
            results.values("standing", "standing_p50_ms")[row],
        )
    }

    /// No queue for a second, then one that grows to 200 ms and stands.
    fn growing(sent_ms: f64) -> f64 {
        ((sent_ms - 1_000.0) / 5.0).clamp(0.0, 200.0)
    }

    #[test]
    fn a_queue_that_stands_is_seen_from_either_end() {
        for is_captured_at_client in [false, true] {
            let download = Download {
                is_captured_at_client,
                ..Download::default()
            };
            let results = download.seen(growing);
            let (with, without) = match is_captured_at_client {
                true => ("up", "down"),
                false => ("down", "up"),
            };
            let (windows, p50_ms) = stood(&results, with);
            assert!(windows >= 12.0, "{windows} windows");
            // At least: what the host may have held is taken off.
            assert!((185.0..=201.0).contains(&p50_ms.unwrap()), "{p50_ms:?}");
            // Two segments from one acknowledgment to the next.
            let held = results.values("standing", "standing_held_ms");
            let held = held.into_iter().flatten().next().unwrap();
            assert!((0.0..=11.0).contains(&held), "{held}");
            assert_eq!(stood(&results, without).0, 0.0);
        }
    }

    #[test]
    fn a_delay_that_grew_is_told_from_one_that_came_in_a_step() {
        let begin = |queue_ms: &dyn Fn(f64) -> f64| {
            let ten_seconds = Download {
                segments: 2_000,
                ..Download::default()
            };
            let results = ten_seconds.seen(queue_ms);
            let legs = results.texts("standing", "direction");
            let row = legs.iter().position(|leg| *leg == Some("down")).unwrap();
            let of = |column| results.values("standing", column)[row];
            (of("step_share"), of("level_share").unwrap() > 0.5)
        };
        // In a second to where it stays, as a neighbour's transfer fills a queue up to its receive window.
        assert_eq!(begin(&growing), (Some(0.0), true));
        let longer_way = |ms| if ms < 1_500.0 { 0.0 } else { 100.0 };
        assert_eq!(begin(&longer_way), (Some(1.0), true));
        // Two of them.
        let twice = |ms| longer_way(ms) + if ms < 4_000.0 { 0.0 } else { 100.0 };
        assert_eq!(begin(&twice), (None, true));
    }

    #[test]
    fn a_level_that_few_samples_show_is_one() {
        // Two segments in 600 ms.
        let sparse = Download {
            every_ms: 300.0,
            segments: 60,
            ..Download::default()
        };
        let results = sparse.seen(|ms| if ms < 3_000.0 { 0.0 } else { 100.0 });
        assert!(stood(&results, "down").0 > 0.0);
        let share = results.values("standing", "level_share");
        assert_eq!(share.into_iter().flatten().next(), Some(1.0));
    }

    #[test]
    fn one_direction_alone_has_no_round_trips() {
        for captured in [&[">"][..], &["<"]] {
            let download = Download {
                captured,
                ..Download::default()
            };
            let stands = download
                .seen(growing)
                .values("standing", "standing_windows");
            assert!(stands.iter().all(|n| *n == Some(0.0)), "{stands:?}");
        }
    }

    #[test]
    fn without_timestamps_the_receiving_end_sees_nothing() {
        let download = Download {
            has_stamps: false,
            is_captured_at_client: true,
            ..Download::default()
        };
        let results = download.seen(growing);
        let stands = results.values("standing", "standing_windows");
        assert!(stands.iter().all(|n| *n == Some(0.0)), "{stands:?}");
        let at_sender = Download {
            has_stamps: false,
            ..Download::default()
        };
        assert!(stood(&at_sender.seen(growing), "down").0 >= 12.0);
    }

    #[test]
    fn half_of_a_path_has_no_round_trip() {
        let floor = |captured| {
            let download = Download {
                captured,
                has_stamps: false,
                is_captured_at_client: true,
                ..Download::default()
            };
            let floors = download.seen(|_| 0.0).values("standing", "rtt_floor_ms");
            floors[0].map(f64::round)
        };
        assert_eq!(floor(&["<", ">"]), Some(41.0));
        // The capture began after the handshake: the server's end of the path was never measured.
        assert_eq!(floor(&["< 1", "> 1+0 ack 1"]), None);
    }

    /// Requests three times a second, captured at the client, whose answers carry their acknowledgments and are late by `late` of the time,
    /// before the server stamps them or behind it.
    fn answered(late: impl Fn(f64) -> f64, is_behind_stamp: bool) -> Results {
        let mut script = Script::default()
            .at(0.0, "> syn 0+0 mss 1460 ws 7 sackok ts 5000 0")
            .at(20.0, "< syn 0+0 ack 1 mss 1460 ws 7 sackok ts 90010 5000")
            .at(20.1, "> 1+0 ack 1 ts 5020 90010");
        let mut server_stamp = 90_010;
        for n in 0..60_u32 {
            let asked = 500.0 + f64::from(n) * 300.0;
            let late_ms = late(asked);
            let stamped = asked + 10.0 + if is_behind_stamp { 0.0 } else { late_ms };
            let ends = [1 + n * 100, 1 + n * 1_000];
            script.packet(
                asked,
                &format!(
                    "> {}+100 ack {} ts {} {server_stamp}",
                    ends[0],
                    ends[1],
                    5_000.0 + asked
                ),
            );
            server_stamp = 90_000 + stamped as u32;
            script.packet(
                asked + 20.0 + late_ms,
                &format!(
                    "< {}+1000 ack {} ts {server_stamp} {}",
                    ends[1],
                    ends[0] + 100,
                    5_000.0 + asked
                ),
            );
        }
        script.run()
    }

    #[test]
    fn the_hosts_clock_tells_its_wait_from_a_queue_behind_it() {
        let sawtooth = |ms: f64| match ms {
            ..4_000.0 => 0.0,
            _ => 80.0 + (ms - 4_000.0) % 4_000.0 / 40.0,
        };
        let (windows, p50_ms) = stood(&answered(sawtooth, true), "up");
        assert!(windows >= 40.0, "{windows} windows");
        assert!((120.0..=140.0).contains(&p50_ms.unwrap()), "{p50_ms:?}");
        assert_eq!(stood(&answered(sawtooth, false), "up").0, 0.0);
        // A longer way is late behind the stamp as well, but does not drift; a radio that sleeps does not go on as it was.
        let longer = |ms: f64| if ms < 4_000.0 { 0.0 } else { 120.0 };
        assert_eq!(stood(&answered(longer, true), "up").0, 0.0);
        let asleep = |ms: f64| if ms % 600.0 < 300.0 { 150.0 } else { 40.0 };
        assert_eq!(stood(&answered(asleep, true), "up").0, 0.0);
    }

    #[test]
    fn bursts_and_short_queues_do_not_stand() {
        let results = Download::default().seen(|ms| 4.0 * (ms / 250.0).sin().abs());
        assert_eq!(stood(&results, "down").0, 0.0);
        // Half a second, then empty again.
        let burst = |ms: f64| {
            if (1_000.0..1_500.0).contains(&ms) {
                150.0 - (ms - 1_000.0) / 5.0
            } else {
                0.0
            }
        };
        assert_eq!(stood(&Download::default().seen(burst), "down").0, 0.0);
    }

    #[test]
    fn delayed_acknowledgments_are_the_hosts_own() {
        let mut script = Script::opened();
        for n in 0..40_u32 {
            let at = 1_000.0 + f64::from(n) * 300.0;
            script.packet(at, &format!("< {}+50 ack 1", 1 + n * 50));
            script.packet(at + 220.0, &format!("> 1+0 ack {}", 51 + n * 50));
        }
        let results = script.run();
        assert_eq!(stood(&results, "down").0, 0.0);
        let samples = results.values("standing", "ack_samples");
        assert!(samples.iter().flatten().any(|&n| n >= 30.0), "{samples:?}");
        let delays = results.values("standing", "ack_p50_ms");
        assert!(
            delays
                .iter()
                .flatten()
                .any(|ms| (150.0..=220.0).contains(ms)),
            "{delays:?}"
        );
    }

    /// Samples of a kind over all rows, and the largest median.
    fn named(results: &Results, kind: &str) -> (f64, f64) {
        let samples = results.values("standing", &format!("{kind}_samples"));
        let medians = results.values("standing", &format!("{kind}_p50_ms"));
        let most = medians.into_iter().flatten().fold(0.0, f64::max);
        (samples.into_iter().flatten().sum(), most)
    }

    const OTHERS: [&str; 6] = ["think", "wake", "power_save", "ack", "hold", "jitter"];

    /// Requests that the server acknowledges at once and answers later; `captured` as of a download.
    fn asked(captured: &[&str], pause_ms: f64, think_ms: f64) -> Results {
        let stamp = |ms: f64| 50_000 + ms as u32;
        let mut script = Script::default();
        let mut packet = |ms: f64, words: String| {
            if captured.iter().any(|way| words.starts_with(way)) {
                script.packet(ms, &words);
            }
        };
        packet(0.0, format!("> syn 0+0 mss 1448 ts {} 0", stamp(0.0)));
        packet(
            10.0,
            format!("< syn 0+0 ack 1 mss 1448 ts {} {}", stamp(10.0), stamp(0.0)),
        );
        packet(
            20.0,
            format!("> 1+0 ack 1 ts {} {}", stamp(20.0), stamp(10.0)),
        );
        let (mut at, mut echo) = (100.0, 10.0);
        for n in 0..30_u32 {
            // The capture point is next to the client; the server is 10 ms away. Every third answer comes at once.
            let think_ms = if n % 3 == 0 { 0.0 } else { think_ms };
            let (up, down) = (1 + n * 100, 1 + n * 500);
            packet(
                at,
                format!("> {up}+100 ack {down} ts {} {}", stamp(at), stamp(echo)),
            );
            let (came, said) = (at + 10.0, at + 10.0 + think_ms);
            if think_ms > 0.0 {
                let ack = format!(
                    "< {down}+0 ack {} ts {} {}",
                    up + 100,
                    stamp(came),
                    stamp(at)
                );
                packet(at + 20.0, ack);
            }
            let answer = format!(
                "< {down}+500 ack {} ts {} {}",
                up + 100,
                stamp(said),
                stamp(at)
            );
            packet(said + 10.0, answer);
            let seen = said + 10.0;
            let ack = format!(
                "> {}+0 ack {} ts {} {}",
                up + 100,
                down + 500,
                stamp(seen),
                stamp(said)
            );
            packet(seen, ack);
            (at, echo) = (seen + pause_ms, said);
        }
        script.run()
    }

    #[test]
    fn an_answer_that_comes_after_its_requests_acknowledgment_was_thought_about() {
        for captured in [&["<", ">"][..], &["<"]] {
            let (samples, median_ms) = named(&asked(captured, 200.0, 300.0), "think");
            assert!(samples >= 15.0, "{captured:?}: {samples}");
            assert!(
                (295.0..=305.0).contains(&median_ms),
                "{captured:?}: {median_ms}"
            );
        }
    }

    #[test]
    fn a_users_pause_is_no_delay() {
        for captured in [&["<", ">"][..], &["<"]] {
            let results = asked(captured, 700.0, 0.0);
            for kind in OTHERS {
                assert_eq!(named(&results, kind).0, 0.0, "{kind} {captured:?}");
            }
        }
    }

    /// From 0 to 60 ms, whatever the packet before had to wait.
    fn jitter(sent_ms: f64) -> f64 {
        let n = sent_ms / 80.0;
        (n * n * 0.618_034).fract() * 60.0
    }

    #[test]
    fn a_queue_is_never_named_otherwise() {
        for is_captured_at_client in [false, true] {
            let sparse = Download {
                every_ms: 80.0,
                segments: 300,
                is_captured_at_client,
                ..Download::default()
            };
            let queue = sparse.seen(|ms| {
                if ms < 1_000.0 {
                    0.0
                } else {
                    140.0 + ms % 5_000.0 / 100.0
                }
            });
            for kind in OTHERS {
                assert_eq!(named(&queue, kind).0, 0.0, "{kind}");
            }
        }
    }

    #[test]
    fn delays_that_jump_up_and_come_back_are_jitter() {
        let sparse = Download {
            every_ms: 80.0,
            segments: 300,
            acks_all: true,
            ..Download::default()
        };
        let (samples, median_ms) = named(&sparse.seen(jitter), "jitter");
        assert!(samples >= 50.0, "{samples}");
        assert!((20.0..60.0).contains(&median_ms), "{median_ms}");
    }
}
