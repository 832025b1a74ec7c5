//! Windows of a flow as its packets pass.

use super::delays::{Delays, target};
use super::early::Early;
use super::floor::{DRIFT_PPM, RunningFloor};
use super::host_clock::HostClock;
use super::lateness::{Lateness, Sample};
use super::make_room;
use super::think::{Echoes, Gap};
use super::wait::{Wait, WaitFound};
use super::waits::Waits;
use super::window::{Cell, Series, WINDOW, Window, index_of};
use crate::flow::Flow;
use crate::standing::Load;
use crate::tcp::{DataKind, Segment};
use unbloat_units::{Both, Delta, Direction, Seq, Time};
use unbloat_wire::{PacketFlags, PacketHeader};

/// Delays and loads of one flow.
#[derive(Clone, Default)]
pub(crate) struct Recorder {
    /// By the side of the data that the host sends.
    clocks: Both<HostClock>,
    hosts: Both<Host>,
    /// Of series by clocks, as of now; `floors` are those of windows, in hindsight.
    lows: [RunningFloor; Series::COUNT],
    /// When the last sample of a series was taken that late ones are held against.
    sampled: [Option<Time>; Series::COUNT],
    /// Whose payload was the flow's last packet.
    asked: Option<Direction>,
    gap: Gap,
    echoes: Echoes,
    waits: Option<Box<Waits>>,
    /// The ticks that the samples so far were taken by.
    ticks: Option<Both<Delta>>,
    /// Samples of the time before both ticks were known, in pieces: most flows have few.
    early: Vec<Vec<Early>>,
    /// The first sample of each series, from which the others count.
    zeros: [Option<i64>; Series::COUNT],
    windows: Vec<Window>,
    /// Of windows that were taken: the floor of each series as of which window.
    floors: [Option<Floor>; Series::COUNT],
}

/// The least delay of a series so far.
#[derive(Clone, Copy, Debug)]
struct Floor {
    us: i64,
    index: u32,
}

/// What is remembered of the last packet of a host.
#[derive(Clone, Copy, Default)]
struct Host {
    last: Option<Time>,
    ticks: Option<i64>,
    /// Newest echo that it sent, in ticks of the other's clock.
    echoed: Option<i64>,
    /// Of the one-way delays of its data, and when it last sent some.
    data_floor: RunningFloor,
    data: Option<Time>,
    /// The newest of its timestamps that are of data to come, in ticks: see [`Recorder::is_of_data_to_come`].
    ahead: Option<i64>,
    in_flight: u32,
    /// How long both hosts were silent before its last packet with payload.
    silence: Delta,
}

/// A timestamp with its echo, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stamped {
    pub(super) side: Direction,
    pub(super) seen: Seen,
    pub(super) own: i64,
    /// Since the host's previous packet.
    pub(super) gap: Option<i64>,
    /// It answers several full segments at once.
    pub(super) at_once: Option<AtOnce>,
    /// Where it is newer than any before it.
    pub(super) echo: Option<Echo>,
}

/// An echo, in ticks of the host that is echoed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Echo {
    pub(super) position: i64,
    /// Since the newest before it.
    pub(super) step: i64,
}

/// A packet as far as it bears on what made it late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) now: Time,
    pub(super) has_payload: bool,
    pub(super) answer: Answer,
    /// By direction: the user has no more on the way than an idle path takes at once.
    pub(super) is_light: Both<bool>,
    /// Since the host's previous packet.
    pub(super) pause: Delta,
    /// Since the flow's last packet; while one host waits for the other's answer, nobody is silent.
    pub(super) silence: Delta,
    /// The same of the other host's last payload, where that is known.
    pub(super) silence_before: Option<Delta>,
    pub(super) is_other_captured: bool,
    pub(super) target: Delta,
}

impl Seen {
    fn sample(&self, added: Delta, silence: Delta) -> Sample {
        Sample {
            now: self.now,
            added,
            target: self.target,
            pause: None,
            silence,
            is_holdable: false,
            is_light: true,
        }
    }
}

/// What a packet acknowledges, which says why it left when it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
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
    pub(super) series: Series,
    pub(super) since: Time,
    /// Of it, what may be no delay of the path.
    pub(super) held: Option<Delta>,
}

impl Recorder {
    /// A minute of them; then they are judged and begin anew.
    const WINDOWS: usize = 240;
    /// Of early samples, eight times eight.
    const PIECES: usize = 8;
    const PIECE: usize = 8;
    /// No departure is planned further ahead, but at rates of some 10 kbit/s.
    const SENDING: Delta = Delta::secs(1);
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
        let side = seg.side;
        let gap = self.hosts[side]
            .last
            .map(|last| seg.now.since_bounded(last));
        let at_once = AtOnce::of(seg, flow);
        let seen = self.seen(seg, index, flow, load);
        if seen.has_payload {
            self.hosts[side].silence = seen.silence;
        }
        self.hosts[side].last = Some(seg.now);
        self.asked = seen.has_payload.then_some(side);
        let stamp_gap = self.on_stamp(seg, index, at_once, seen);
        if let Some(sample) = seg.rtt {
            let gap = match at_once {
                Some(_) => Some(Delta::ZERO),
                None => gap.max(stamp_gap),
            };
            let delay = (sample.rtt.as_us(), gap.map(Delta::as_us));
            self.sample(self.last_place(), Series::Loop(side.reverse()), delay);
            self.on_round_trip(side, sample.rtt, gap, seen, flow);
        }
        if let Some(thought) = self.gap.on_packet(seg) {
            self.waits.get_or_insert_default().add_think(thought);
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
            let us = header.time.since_bounded(spun.since).as_us();
            // For the windows that it lasted, but one alone is no evidence of seconds.
            let ended = index_of(header.time, origin);
            let begun = index_of(spun.since, origin).max(ended.saturating_sub(Self::SPANNED));
            let first = self.windows.partition_point(|window| window.index < begun);
            for place in first..self.windows.len() {
                self.sample(place, spun.series, (us, spun.held.map(Delta::as_us)));
            }
        }
        is_full
    }

    #[inline(always)]
    fn seen(&self, seg: &Segment<'_>, window: u32, flow: &Flow<'_>, load: &mut Load) -> Seen {
        let (own, other) = (seg.side, seg.side.reverse());
        let since =
            |last: Option<Time>| last.map_or(Delta::ZERO, |last| seg.now.since_bounded(last));
        let before = self.hosts.down.last.max(self.hosts.up.last);
        let has_payload = seg.header.payload_len > 0;
        let is_captured = flow.core.packets[other] > 0;
        let is_waiting = |side: Direction| self.asked == Some(side);
        let floors = Both::of(|side| flow.half(side).rtt_floor());
        Seen {
            now: seg.now,
            has_payload,
            answer: Answer::of(seg),
            is_light: load.is_light(window),
            pause: since(self.hosts[own].last),
            silence: match is_waiting(seg.side.reverse()) {
                true => Delta::ZERO,
                false => since(before),
            },
            silence_before: match (is_captured, is_waiting(seg.side)) {
                (true, _) => Some(self.hosts[other].silence),
                (false, true) if seg.side == Direction::Up => Some(Delta::ZERO),
                (false, _) => None,
            },
            is_other_captured: is_captured,
            target: target(floors.into_iter().flatten().reduce(|a, b| a + b)),
        }
    }

    /// Takes in a round trip of data of the other side, where no timestamps say more.
    fn on_round_trip(
        &mut self,
        side: Direction,
        rtt: Delta,
        held: Option<Delta>,
        seen: Seen,
        flow: &Flow<'_>,
    ) {
        let acked = side.reverse();
        let Some(floor) = flow.half(acked).rtt_floor() else {
            return;
        };
        if self.ticks.is_some() {
            return;
        }
        let sample = Sample {
            is_light: seen.is_light == Both::new(true, true),
            ..seen.sample(rtt - floor, self.hosts[acked].silence)
        };
        self.on_answer(side, Series::Loop(acked), &seen, held, sample);
    }

    /// A delay that holds a host's own wait, of `held` at most.
    #[inline(always)]
    fn on_answer(
        &mut self,
        side: Direction,
        series: Series,
        seen: &Seen,
        held: Option<Delta>,
        sample: Sample,
    ) {
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
                return self.late(series, sample);
            }
            (_, Answer::One) => true,
            // What is later than any host delays an acknowledgment was not with the host.
            (_, Answer::Spoken) if sample.added > Lateness::LONGEST_HOLD => false,
            // It waited for what there was to say: a server's answer; for a client's next request nobody waits.
            (_, Answer::Spoken) => {
                if side == Direction::Down && sample.is_late() && sample.added >= Gap::LEAST {
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
        self.late(series, sample);
    }

    #[inline(always)]
    fn late(&mut self, series: Series, sample: Sample) {
        let last = self.sampled[series.index()].replace(sample.now);
        let pause = last.map(|last| sample.now.since_bounded(last));
        if self.waits.is_some() || sample.is_late() {
            let waits = self.waits.get_or_insert_default();
            waits.add(series, &Sample { pause, ..sample });
        }
    }

    /// What made samples of a series late.
    pub(super) fn waits(&self, series: Series) -> [WaitFound; Wait::COUNT] {
        let Some(waits) = &self.waits else {
            return Default::default();
        };
        let mut found = waits.late(series);
        if series == Series::Loop(Direction::Up) {
            found[Wait::Think as usize] = waits.think();
        }
        found
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

    fn on_stamp(
        &mut self,
        seg: &Segment<'_>,
        window: u32,
        at_once: Option<AtOnce>,
        seen: Seen,
    ) -> Option<Delta> {
        let header = seg.header;
        if !header.flags.has(PacketFlags::TIMESTAMPS) {
            return None;
        }
        let (own, other) = (seg.side, seg.side.reverse());
        let ticks = self.clocks[own].own_position(header.tsval, seg.now);
        let is_echo = header.tcp_flags.ack() && header.tsecr != Seq::new(0);
        let echo = is_echo.then(|| self.clocks[other].echo_position(header.tsecr, seg.now));
        let host = &mut self.hosts[own];
        let gap = host.ticks.map(|last| ticks - last);
        host.ticks = Some(host.ticks.map_or(ticks, |last| last.max(ticks)));
        let newest = host.echoed;
        let echo = echo.filter(|&echo| newest.is_none_or(|newest| echo > newest));
        host.echoed = echo.or(newest);
        let echo = echo.map(|position| Echo {
            position,
            step: position - newest.unwrap_or(position),
        });
        let stamped = Stamped {
            side: seg.side,
            seen,
            own: ticks,
            gap,
            at_once,
            echo,
        };
        if self.ticks != self.ticks() {
            self.on_ticks();
        }
        match self.ticks {
            Some(known) => self.stamped(self.last_place(), stamped, known),
            None => self.keep_early(window, stamped),
        }
        let tick = self.clocks[own].tick()?;
        Some(tick * (gap?.max(0) + 1))
    }

    fn keep_early(&mut self, window: u32, stamped: Stamped) {
        let is_full = |piece: &Vec<Early>| piece.len() == Self::PIECE;
        if self.early.last().is_none_or(is_full) {
            if self.early.len() == Self::PIECES {
                return;
            }
            self.early.push(Vec::with_capacity(Self::PIECE));
        }
        if let Some(piece) = self.early.last_mut() {
            piece.push(Early::new(window, &stamped));
        }
    }

    /// Both ticks are known, or one turned out to be another: what waited goes to its windows.
    #[cold]
    fn on_ticks(&mut self) {
        self.ticks = self.ticks();
        for series in Series::ALL.into_iter().filter(|s| s.is_by_clocks()) {
            let at = series.index();
            (self.zeros[at], self.floors[at]) = (None, None);
            self.lows[at] = RunningFloor::default();
            self.windows
                .iter_mut()
                .for_each(|w| w.cells[at] = Cell::default());
        }
        self.echoes = Echoes::default();
        for host in &mut self.hosts {
            (host.data_floor, host.data, host.ahead) = (RunningFloor::default(), None, None);
        }
        if let Some(waits) = &mut self.waits {
            waits.forget_late();
        }
        let Some(ticks) = self.ticks else { return };
        let early = std::mem::take(&mut self.early);
        for packet in early.iter().flatten() {
            let place = self
                .windows
                .binary_search_by_key(&packet.window, |w| w.index);
            if let Ok(place) = place {
                self.stamped(place, packet.stamped(), ticks);
            }
        }
        self.early = early;
    }

    /// Adds what the timestamps of a packet say to the window at `place`.
    #[inline(always)]
    fn stamped(&mut self, place: usize, packet: Stamped, ticks: Both<Delta>) {
        let Stamped { side, seen, .. } = packet;
        let (own, other) = (ticks[side], ticks[side.reverse()]);
        let ns = |count: i64, tick: Delta| count.saturating_mul(tick.as_ns());
        let sent = ns(packet.own, own);
        let one_way = seen.now.as_ns().saturating_sub(sent) / 1_000;
        if self.is_of_data_to_come(&packet, one_way, own) {
            return;
        }
        self.sample(place, Series::OneWay(side), (one_way, Some(0)));
        let seen = Seen {
            target: seen.target + own + other,
            ..seen
        };
        let on_way = self.on_one_way(side, &seen, one_way);
        let is_answer_unseen = side == Direction::Up && !seen.is_other_captured;
        let ahead = self.hosts[side.reverse()].ahead;
        if let Some(echo) = packet.echo.filter(|echo| Some(echo.position) != ahead) {
            let echoed = ns(echo.position, other);
            let path = (sent - echoed) / 1_000;
            // Either end of the gap lies anywhere in its tick.
            let gap = packet.gap.map(|gap| ns(gap.max(0) + 1, own) / 1_000);
            let held = match packet.at_once {
                Some(at_once) => gap.map(|gap| at_once.held_us(gap)),
                None => gap,
            };
            self.sample(place, Series::Path(side.reverse()), (path, held));
            let delay = (path, held.map(Delta::us));
            self.on_path(side, &seen, delay, ns(echo.step, other));
            if is_answer_unseen && seen.answer != Answer::None {
                self.on_echoed_answer(seen.now, echoed);
            }
        }
        if is_answer_unseen && seen.has_payload {
            self.echoes.ask(sent, on_way);
        }
    }

    /// A sender that paces (Linux, since 4.20) stamps a packet with the time at which it may depart, and an acknowledgment, which does not wait,
    /// with the time at which the next data may. So one that seems faster than all data of its host, which is sending some, tells nothing.
    #[inline]
    fn is_of_data_to_come(&mut self, packet: &Stamped, one_way: i64, tick: Delta) -> bool {
        let host = &mut self.hosts[packet.side];
        let now = packet.seen.now;
        if packet.seen.has_payload {
            host.data_floor.added(now, one_way);
            host.data = Some(now);
            return false;
        }
        let tolerance = tick + Delta::ms(1);
        let is_sending = |at: Time| now.since_bounded(at) <= Self::SENDING;
        let is_ahead = host.data.is_some_and(is_sending)
            && host.data_floor.is_undercut(now, one_way, tolerance);
        if is_ahead {
            host.ahead = Some(packet.own);
        }
        is_ahead
    }

    /// Returns how late the packet was at the capture point.
    #[inline(always)]
    fn on_one_way(&mut self, side: Direction, seen: &Seen, us: i64) -> Delta {
        let series = Series::OneWay(side);
        let added = self.lows[series.index()].added(seen.now, us);
        let sample = Sample {
            is_light: seen.is_light[side],
            ..seen.sample(added, seen.silence - added)
        };
        self.late(series, sample);
        added
    }

    /// `step_ns` after what was echoed before, the other host sent what is echoed now.
    #[inline(always)]
    fn on_path(
        &mut self,
        side: Direction,
        seen: &Seen,
        (us, held): (i64, Option<Delta>),
        step_ns: i64,
    ) {
        let series = Series::Path(side.reverse());
        let added = self.lows[series.index()].added(seen.now, us);
        let unseen = Delta::ns(step_ns).min(seen.pause - added);
        let sample = Sample {
            is_light: seen.is_light[side.reverse()],
            ..seen.sample(added, seen.silence_before.unwrap_or(unseen))
        };
        self.on_answer(side, series, seen, held, sample);
    }

    #[inline]
    fn on_echoed_answer(&mut self, now: Time, stamped_ns: i64) {
        if let Some(thought) = self.echoes.answer(now, stamped_ns) {
            self.waits.get_or_insert_default().add_think(thought);
        }
    }

    #[inline]
    fn sample(&mut self, place: usize, series: Series, (us, gap_us): (i64, Option<i64>)) {
        let at = series.index();
        let zero = *self.zeros[at].get_or_insert(us);
        if let Some(window) = self.windows.get_mut(place) {
            window.cells[at].add(us.saturating_sub(zero), gap_us);
        }
    }

    fn last_place(&self) -> usize {
        self.windows.len().saturating_sub(1)
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

    /// The length of a tick of each host's clock, once both are known.
    pub(super) fn ticks(&self) -> Option<Both<Delta>> {
        let Both { down, up } = &self.clocks;
        Some(Both::new(down.tick()?, up.tick()?))
    }

    /// The delays of a series above its floor, window by window.
    pub(super) fn delays(&self, series: Series, windows: &[Window]) -> Vec<Delays> {
        let floors = self.floors(series, windows);
        let delays = windows.iter().zip(floors).map(|(window, floor)| {
            let cell = window.cell(series);
            Delays {
                upper: i64::from(cell.upper) - floor,
                lower: i64::from(cell.lower) - floor,
                samples: cell.samples,
                sharp: cell.sharp,
            }
        });
        delays.collect()
    }

    /// The floor of a series at each window: the least sample, from before or after, for each window
    /// of distance so much more as clocks may drift meanwhile.
    fn floors(&self, series: Series, windows: &[Window]) -> Vec<i64> {
        let drift = match series {
            Series::Loop(_) => 0,
            _ => WINDOW.as_us() * DRIFT_PPM / 1_000_000,
        };
        let mut floors: Vec<i64> = Vec::with_capacity(windows.len());
        let mut floor = self.floors[series.index()];
        for window in windows {
            floor = Floor::least(floor, window, series, drift);
            floors.push(floor.map_or(0, |floor| floor.us));
        }
        let mut later = None;
        for (window, known) in windows.iter().zip(&mut floors).rev() {
            later = Floor::least(later, window, series, drift);
            *known = later.map_or(*known, |least| least.us.min(*known));
        }
        floors
    }

    /// Remembers the floors where the windows end.
    pub(super) fn keep_floors(&mut self, windows: &[Window]) {
        let Some(last) = windows.last() else { return };
        for series in Series::ALL {
            let us = self.floors(series, windows).last().copied();
            let is_known = self.zeros[series.index()].is_some();
            self.floors[series.index()] = us.filter(|_| is_known).map(|us| Floor {
                us,
                index: last.index,
            });
        }
    }
}

impl Floor {
    /// The floor at a window: the one from elsewhere, or the window's own least sample.
    fn least(from: Option<Floor>, window: &Window, series: Series, drift: i64) -> Option<Floor> {
        let cell = window.cell(series);
        let here = (cell.samples > 0).then_some(i64::from(cell.upper));
        let drifted =
            from.map(|floor| floor.us + drift * i64::from(window.index.abs_diff(floor.index)));
        let us = match (here, drifted) {
            (Some(here), Some(drifted)) => here.min(drifted),
            (here, drifted) => here.or(drifted)?,
        };
        Some(Floor {
            us,
            index: window.index,
        })
    }
}

/// An acknowledgment of at least two full segments, which is due as soon as the second is there (RFC 5681
/// §4.2): what it echoes, the oldest of them, waited for the newest and for nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AtOnce {
    /// They passed the capture point within so many microseconds.
    Within { us: i32 },
    /// So many of them, which were not captured; evenly over the time since the last acknowledgment.
    Segments(u32),
}

impl AtOnce {
    /// A segment with less is not full on any path.
    const LEAST_SEGMENT: u32 = 1_000;
    const USUAL_SEGMENT: u32 = 1_448;

    #[inline]
    fn of(seg: &Segment<'_>, flow: &Flow<'_>) -> Option<AtOnce> {
        if seg.header.payload_len > 0 {
            return None;
        }
        if let Some(sample) = seg.rtt {
            let is_full = seg.acked >= Self::LEAST_SEGMENT * seg.acked_packets;
            let spread = sample.from_oldest? - sample.rtt;
            let us = i32::try_from(spread.as_us()).unwrap_or(i32::MAX);
            return (seg.acked_packets >= 2 && is_full).then_some(AtOnce::Within { us });
        }
        let segments = seg.acked / Self::USUAL_SEGMENT;
        let is_unseen = flow.core.packets[seg.side.reverse()] == 0;
        (is_unseen && segments >= 2).then_some(AtOnce::Segments(segments))
    }

    /// How long the host held the oldest, which came within `gap_us`.
    fn held_us(self, gap_us: i64) -> i64 {
        match self {
            AtOnce::Within { us } => i64::from(us).min(gap_us),
            AtOnce::Segments(n) => gap_us * i64::from(n - 1) / i64::from(n),
        }
    }
}
