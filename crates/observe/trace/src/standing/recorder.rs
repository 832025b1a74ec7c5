//! Windows of a flow as its packets pass.

use super::delays::{Delays, target};
use super::echo::Stamps;
use super::lateness::{Lateness, Sample};
use super::make_room;
use super::think::Gap;
use super::wait::{Wait, WaitFound};
use super::waits::Waits;
use super::window::{Answered, WINDOW, Window, index_of, is_late};
use crate::flow::Flow;
use crate::standing::Load;
use crate::tcp::{DataKind, Segment};
use unbloat_units::{Both, Delta, Direction, Seq, Time};
use unbloat_wire::{PacketFlags, PacketHeader};

/// Delays and loads of one flow. Loops are kept for each leg: `Down` is between the capture point and the client, `Up` between it and the
/// server.
#[derive(Clone, Default)]
pub(crate) struct Recorder {
    /// By the side of the data that the host sends.
    hosts: Both<Host>,
    /// By leg: the least loop so far, and when the last sample was taken that late ones are compared with.
    lows: Both<Option<Delta>>,
    sampled: Both<Option<Time>>,
    /// Whose payload was the flow's last packet.
    asked: Option<Direction>,
    gap: Gap,
    waits: Option<Box<Waits>>,
    windows: Vec<Window>,
    /// By direction of the data: bytes that were acknowledged in the last window, and the most in any before.
    acked: Both<u32>,
    most_acked: Both<u32>,
    /// By leg: the least loop of windows that were taken.
    floors: Both<Option<u32>>,
}

/// What is remembered of a host.
#[derive(Clone, Default)]
struct Host {
    /// When its last packet passed.
    last: Option<Time>,
    stamps: Stamps,
    clock: Option<Clock>,
    /// The timestamp that it echoed last.
    echoed: Option<Seq>,
    in_flight: u32,
    /// How long both hosts were silent before its last packet with payload.
    silence: Delta,
}

/// About how long a host's timestamps tick, to bound what passes between two of its packets. It decides nothing else.
#[derive(Clone, Copy)]
struct Clock {
    first: (Time, Seq),
    last: Seq,
}

impl Clock {
    /// At least so much time passed between the last packet and this one.
    fn gap(&self, now: Time, stamp: Seq) -> Delta {
        let (begin, first) = self.first;
        let (ticks, of_all) = (stamp.since(self.last) - 1, stamp.since(first));
        match ticks > 0 && of_all > 0 {
            true => now.since_bounded(begin) * i64::from(ticks) / i64::from(of_all),
            false => Delta::ZERO,
        }
    }
}

/// A packet as far as it bears on what made it late.
#[derive(Clone, Copy)]
struct Seen {
    now: Time,
    answer: Answer,
    /// The user has no more on the way than an idle path takes at once, in either direction.
    is_light: bool,
    target: Delta,
}

/// What a packet acknowledges, which says why it left when it did.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Nothing new.
    None,
    One,
    Several,
    /// It came with payload.
    Spoken,
}

impl Answer {
    #[inline]
    fn of(seg: &Segment<'_>) -> Answer {
        match (seg.acked, seg.header.payload_len, seg.acked_packets) {
            (0, _, _) => Answer::None,
            (_, 1.., _) => Answer::Spoken,
            (_, _, 2..) => Answer::Several,
            _ => Answer::One,
        }
    }
}

/// A round trip by a spin bit, that ends with the packet at hand.
#[derive(Clone, Copy)]
pub(super) struct Spun {
    pub(super) leg: Direction,
    pub(super) since: Time,
    /// Of it, what may be no delay of the path.
    pub(super) held: Option<Delta>,
}

impl Recorder {
    /// A minute of them; then they are judged and begin anew.
    const WINDOWS: usize = 240;
    /// Windows before its last that a round trip counts in.
    const SPANNED: u32 = 2;

    /// Takes in a packet. Returns whether the windows are due to be judged.
    #[inline]
    pub(crate) fn on_packet(
        &mut self,
        seg: &Segment<'_>,
        flow: &Flow<'_>,
        origin: Time,
        load: &mut Load,
    ) -> bool {
        let index = index_of(seg.now, origin);
        let is_full = self.turn(index, load);
        let (side, leg) = (seg.side, seg.side.reverse());
        let has_payload = seg.header.payload_len > 0;
        let before = self.hosts.down.last.max(self.hosts.up.last);
        // While one host waits for the other's answer, nobody is silent.
        let silence = match self.asked {
            Some(asked) if asked != side => Delta::ZERO,
            _ => before.map_or(Delta::ZERO, |before| seg.now.since_bounded(before)),
        };
        let last = self.hosts[side].last.replace(seg.now);
        if has_payload {
            self.hosts[side].silence = silence;
        }
        self.asked = has_payload.then_some(side);
        let stamped = self.on_stamp(seg);
        let echo = stamped.and_then(|stamped| stamped.echo);
        let rtt = seg.rtt.map(|sample| sample.rtt);
        if let Some(trip) = rtt.or(seg.sacked_rtt).or(echo) {
            let gap = last.map(|last| seg.now.since_bounded(last));
            let stamp_gap = stamped.map(|stamped| stamped.gap);
            let is_sacked = rtt.is_none() && seg.sacked_rtt.is_some();
            let (trip, held) = match self.at_once(seg) {
                Some(burst) => (self.without(trip, burst, leg), Some(Delta::ZERO)),
                // RFC 5681 §4.2: what comes out of order is acknowledged at once.
                None if is_sacked => (trip, Some(Delta::ZERO)),
                None => (trip, gap.max(stamp_gap)),
            };
            let answer = stamped.map(|stamped| stamped.answer);
            if let Some(window) = self.windows.last_mut() {
                let (cell, is_late) = (&mut window.cells[leg], is_late(seg.now, origin));
                match is_sacked {
                    true => cell.add_sacked(is_late, trip, answer),
                    false => cell.add(is_late, trip, held, answer),
                }
            }
            let floors = Both::of(|way| flow.half(way).rtt_floor());
            let seen = Seen {
                now: seg.now,
                answer: Answer::of(seg),
                is_light: load.is_light(index) == Both::new(true, true),
                target: target(floors.into_iter().flatten().reduce(|a, b| a + b)),
            };
            self.on_round_trip(leg, trip, held, &seen);
        }
        if let Some(thought) = self.gap.on_packet(seg) {
            self.waits.get_or_insert_default().add_think(thought);
        }
        // What one acknowledgment covers after a loss arrived over a longer time.
        if seg.rtt.is_some() {
            let acked = &mut self.acked[leg];
            *acked = acked.saturating_add(seg.acked);
        }
        self.on_bytes(seg, flow, load);
        is_full
    }

    /// Takes in a packet of QUIC. Returns whether the windows are due to be judged.
    pub(super) fn on_spun(
        &mut self,
        side: Direction,
        header: &PacketHeader,
        sample: Option<Spun>,
        (origin, load): (Time, &mut Load),
    ) -> bool {
        let is_full = self.turn(index_of(header.time, origin), load);
        if let Some(window) = self.windows.last_mut() {
            let bytes = &mut window.carried[side].own_bytes;
            *bytes = bytes.saturating_add(header.wire_len);
        }
        if let Some(spun) = sample {
            let trip = header.time.since_bounded(spun.since);
            // For the windows that it lasted, but one alone is no evidence of seconds.
            let ended = index_of(header.time, origin);
            let begun = index_of(spun.since, origin).max(ended.saturating_sub(Self::SPANNED));
            let first = self.windows.partition_point(|window| window.index < begun);
            for window in &mut self.windows[first..] {
                window.cells[spun.leg].add(is_late(header.time, origin), trip, spun.held, None);
            }
        }
        is_full
    }

    /// What made round trips of a leg late.
    pub(super) fn waits(&self, leg: Direction) -> [WaitFound; Wait::COUNT] {
        let Some(waits) = &self.waits else {
            return Default::default();
        };
        let mut found = waits.late(leg);
        if leg == Direction::Up {
            found[Wait::Think as usize] = waits.think();
        }
        found
    }

    /// Takes in a round trip that may hold a host's own wait, of `held` at most.
    fn on_round_trip(&mut self, leg: Direction, trip: Delta, held: Option<Delta>, seen: &Seen) {
        let low = self.lows[leg].map_or(trip, |low| low.min(trip));
        self.lows[leg] = Some(low);
        let sample = Sample {
            now: seen.now,
            added: trip - low,
            target: seen.target,
            pause: None,
            silence: self.hosts[leg].silence,
            is_holdable: false,
            is_light: seen.is_light,
        };
        let is_holdable = match (held, seen.answer) {
            (Some(held), _) if held <= sample.target => false,
            // It left for another reason than that something came.
            (_, Answer::None) => return,
            // The first of them waited for the last, which says nothing but of long pauses.
            (_, Answer::Several) => {
                let sample = Sample {
                    is_light: false,
                    ..sample
                };
                return self.late(leg, sample);
            }
            (_, Answer::One) => true,
            // What is later than any host delays an acknowledgment was not with the host.
            (_, Answer::Spoken) if sample.added > Lateness::LONGEST_HOLD => false,
            // It waited for what there was to say: a server's answer; for a client's next request nobody waits.
            (_, Answer::Spoken) => {
                if leg == Direction::Up && sample.is_late() && sample.added >= Gap::LEAST {
                    let waits = self.waits.get_or_insert_default();
                    waits.add_think(sample.added);
                }
                return;
            }
        };
        let sample = Sample {
            is_holdable,
            ..sample
        };
        self.late(leg, sample);
    }

    fn late(&mut self, leg: Direction, sample: Sample) {
        let last = self.sampled[leg].replace(sample.now);
        let pause = last.map(|last| sample.now.since_bounded(last));
        if self.waits.is_some() || sample.is_late() {
            let waits = self.waits.get_or_insert_default();
            waits.add(leg, &Sample { pause, ..sample });
        }
    }

    /// The window of the packet is the last one.
    #[inline]
    fn turn(&mut self, index: u32, load: &mut Load) -> bool {
        let last = self.windows.last_mut();
        match last {
            Some(window) if window.index >= index => false,
            last => {
                if let Some(window) = last {
                    load.tell(window.index, &mut window.carried);
                    for (most, acked) in self.most_acked.iter_mut().zip(&mut self.acked) {
                        *most = (*most).max(std::mem::take(acked));
                    }
                }
                make_room(&mut self.windows);
                self.windows.push(Window {
                    index,
                    ..Window::default()
                });
                self.windows.len() > Self::WINDOWS
            }
        }
    }

    /// Whether a window is whole: the last one is not.
    pub(crate) fn has_windows(&self) -> bool {
        self.windows.len() > 1
    }

    /// The windows so far, complete but for the last one unless `is_over`.
    pub(super) fn take(&mut self, is_over: bool, load: &Load) -> Vec<Window> {
        let mut windows = std::mem::take(&mut self.windows);
        if !is_over {
            self.windows.extend(windows.pop());
        } else if let Some(last) = windows.last_mut() {
            load.tell(last.index, &mut last.carried);
        }
        windows
    }

    #[inline]
    fn on_stamp(&mut self, seg: &Segment<'_>) -> Option<OnStamp> {
        let header = seg.header;
        if !header.flags.has(PacketFlags::TIMESTAMPS) {
            return None;
        }
        let is_echo = header.tcp_flags.ack() && header.tsecr != Seq::new(0);
        let host = &mut self.hosts[seg.side];
        let clock = host.clock.get_or_insert(Clock {
            first: (seg.now, header.tsval),
            last: header.tsval,
        });
        let before = std::mem::replace(&mut clock.last, header.tsval);
        let clock = Clock {
            last: before,
            ..*clock
        };
        host.stamps.send(header.tsval, seg.now_us);
        // Only the first packet that echoes a timestamp says when the other host had it.
        let is_new = is_echo && host.echoed.replace(header.tsecr) != Some(header.tsecr);
        let other = &mut self.hosts[seg.side.reverse()];
        let echo = is_new.then(|| other.stamps.echo(header.tsecr, seg.now_us));
        Some(OnStamp {
            echo: echo.flatten().map(|us| Delta::us(i64::from(us))),
            gap: clock.gap(seg.now, header.tsval),
            answer: Answered {
                now_us: seg.now_us,
                stamp: header.tsval,
            },
        })
    }

    /// How long the newest data may have waited behind what its sender sent at once with it and this acknowledgment covers, where the
    /// acknowledgment was due as soon as it came: RFC 5681 §4.2, after the second full segment.
    ///
    /// A stretched acknowledgment makes its sender send as much at once, which spreads at the rate of the bottleneck.
    fn at_once(&self, seg: &Segment<'_>) -> Option<Delta> {
        /// A segment with less is not full on any path.
        const LEAST_SEGMENT: u32 = 1_000;
        /// With fewer the receiver has not stretched its acknowledgments.
        const STRETCHED: u32 = 4 * 1_460;
        let at_once = seg.rtt?.at_once;
        let is_full = seg.acked >= LEAST_SEGMENT * seg.acked_packets;
        if seg.header.payload_len > 0 || seg.acked_packets < 2 || !is_full {
            return None;
        }
        if seg.acked <= STRETCHED {
            return Some(Delta::ZERO);
        }
        // Of the window with most acknowledgments, about half of one is of the time before or after it.
        let most = self.most_acked[seg.side.reverse()].saturating_sub(seg.acked / 2);
        let most = i64::from(most.max(1));
        Some(WINDOW * i64::from(at_once) / most)
    }

    /// The trip of a burst's first packet, which is no shorter than any that was seen.
    fn without(&self, trip: Delta, burst: Delta, leg: Direction) -> Delta {
        let low = self.lows[leg].map_or(trip, |low| low.min(trip));
        (trip - burst).max(low)
    }

    #[inline]
    fn on_bytes(&mut self, seg: &Segment<'_>, flow: &Flow<'_>, load: &mut Load) {
        let (own, other) = (seg.side, seg.side.reverse());
        let own_in_flight = seg.in_flight.unwrap_or(self.hosts[own].in_flight);
        let other_in_flight = match seg.acked {
            0 => self.hosts[other].in_flight,
            _ => seg.remaining,
        };
        for (at, now) in [(own, own_in_flight), (other, other_in_flight)] {
            let before = std::mem::replace(&mut self.hosts[at].in_flight, now);
            load.in_flight(at, i64::from(now) - i64::from(before));
        }
        let Some(window) = self.windows.last_mut() else {
            return;
        };
        // Of data that was not captured, the acknowledgments tell.
        let unseen = match flow.core.packets[other] {
            0 => seg.acked,
            _ => seg.missed,
        };
        if unseen > 0 {
            let bytes = &mut window.carried[other].own_bytes;
            *bytes = bytes.saturating_add(unseen);
            load.carry(window.index, other, unseen);
        }
        let carried = &mut window.carried[own];
        carried.own_bytes = carried.own_bytes.saturating_add(seg.header.wire_len);
        carried.own_in_flight = carried.own_in_flight.max(own_in_flight);
        let is_loss = matches!(
            seg.data,
            DataKind::Retransmission | DataKind::UpstreamLoss | DataKind::Ambiguous
        );
        carried.lost = carried.lost.saturating_add(u16::from(is_loss));
    }

    /// The flow is over: nothing of it is in flight any more.
    pub(crate) fn leave(&mut self, load: &mut Load) {
        for at in Direction::BOTH {
            let before = std::mem::take(&mut self.hosts[at].in_flight);
            load.in_flight(at, -i64::from(before));
        }
    }

    /// The delays of a leg above its floor, window by window. The floor is the least loop of a minute, before or after.
    pub(super) fn delays(&self, leg: Direction, windows: &[Window]) -> Vec<Delays> {
        let floor = i64::from(self.floor(leg, windows).unwrap_or(0));
        let delays = windows.iter().map(|window| {
            let cell = &window.cells[leg];
            Delays {
                upper: i64::from(cell.upper) - floor,
                lower: cell.lower.map_or(0, |lower| i64::from(lower) - floor),
                usual: cell.usual().map(|us| us - floor),
                held: cell.held(),
                samples: cell.samples,
                sharp: cell.sharp,
            }
        });
        delays.collect()
    }

    fn floor(&self, leg: Direction, windows: &[Window]) -> Option<u32> {
        let seen = windows.iter().map(|window| &window.cells[leg]);
        let seen = seen.filter(|cell| cell.samples > 0).map(|cell| cell.upper);
        seen.chain(self.floors[leg]).min()
    }

    /// Remembers the floors of windows that were taken.
    pub(super) fn keep_floors(&mut self, windows: &[Window]) {
        self.floors = Both::of(|leg| self.floor(leg, windows));
    }
}

/// What the timestamps of a packet say.
#[derive(Clone, Copy)]
struct OnStamp {
    /// The loop that it ends.
    echo: Option<Delta>,
    /// Since the host's previous packet, at least.
    gap: Delta,
    answer: Answered,
}
