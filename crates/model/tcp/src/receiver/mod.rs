//! The receiving side of a connection.
//!
//! # References
//! RFC 9293 (windows), RFC 2018 and RFC 2883 (SACK), RFC 1122 section 4.2.3.2 and RFC 5681 section 4.2
//! (delayed ACKs), RFC 7323 (scaling, timestamps and PAWS), RFC 3168 (ECN); where they leave a choice, Linux
//! 6.12 (`tcp_validate_incoming`, `tcp_data_queue`, `__tcp_ack_snd_check`, `__tcp_select_window`).
//!
//! # Where we differ
//! 1. It never sends data, so it is never "interactive" (Linux `pingpong`).
//! 2. Nothing that fits the offered window is ever dropped for want of memory.
//! 3. Segments are not merged on arrival (GRO), unless the driver does so.
//! 4. The round-trip time that bounds delayed ACKs is that of the handshake, see [`Receiver::seed_rtt`]: it never sends data
//!    that would measure another.

mod acking;
mod packets;
mod reassembly;
mod rtt;
mod sack;
mod window;

use crate::receive_window::{AnyRule, Config, Rule, View};
use crate::segment::{Ack, Block, CeCount, Ecn, Segment, Timestamps};
use crate::sender::EcnMode;
use reassembly::{Arrival, Reassembly};
use unbloat_params::defaults;
use unbloat_units::{Delta, Seq, Time};

defaults! {
    /// What can be set; the defaults are those of Linux.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Params {
        /// Payload bytes of a full segment, as offered to the sender.
        pub mss: u32 = 1_448;
        /// Offered before anything has arrived.
        pub initial_window: u32 = 65_160;
        /// Windows are multiples of two to this power (RFC 7323 section 2).
        pub window_scale: u8 = 7;
        pub rule: Config = Config::Drs(Default::default());
        pub timestamps: bool = true;
        pub ecn: EcnMode = EcnMode::Off;
        /// Acknowledge every segment.
        pub ack_every_segment: bool = false;
        /// Bytes for which the application is woken (`SO_RCVLOWAT`); see [`Receiver::is_worth_reading`].
        pub low_water: u32 = 1;
        /// Most ACKs that are held back while data arrives out of order (Linux `tcp_comp_sack_nr`);
        /// zero to send them all.
        pub compressed_acks: u8 = 44;
        /// Ticks per second of timers.
        pub hz: u32 = 250;
    }
}

/// Counts of a receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub segments_received: u64,
    /// Payload bytes, duplicates included.
    pub bytes_received: u64,
    pub acks_sent: u64,
    /// Segments of which every byte was there already.
    pub duplicates: u64,
    pub out_of_order: u64,
    /// Segments beyond the window.
    pub out_of_window: u64,
    /// Segments dropped because their timestamp was older than one already accepted (PAWS): overtaken by a retransmission.
    pub out_of_date: u64,
    /// ACKs held back until a later one.
    pub acks_compressed: u64,
    /// ACKs that the timer sent.
    pub delayed_acks: u64,
    pub zero_windows: u64,
    pub ce_received: u64,
}

/// A receiver of one connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    params: Params,
    rule: AnyRule,
    /// Time of the current call.
    now: Time,
    now_us: u64,
    data: Reassembly,
    packets: packets::Packets,
    /// Bytes that the application has read.
    read: u64,
    window: window::Window,
    acking: acking::Acking,
    sacks: sack::Sacks,
    rtt: rtt::Rtt,
    /// The sender's TSval to echo.
    echo: Seq,
    ecn: EcnState,
    /// An ACK that was held back and must leave before the next.
    staged: Option<Ack>,
    stats: Stats,
}

/// The receiver's part of ECN.
#[derive(Clone, Debug, Default)]
struct EcnState {
    /// CE has arrived and no CWR since.
    echo: bool,
    seen: bool,
    ce_packets: u32,
}

impl Receiver {
    pub fn new(now: Time, params: Params) -> Receiver {
        Receiver {
            rule: params.rule.build(),
            window: window::Window::new(&params),
            acking: acking::Acking::default(),
            params,
            now,
            now_us: clock_us(now),
            data: Reassembly::default(),
            packets: packets::Packets::default(),
            read: 0,
            sacks: sack::Sacks::default(),
            rtt: rtt::Rtt::default(),
            echo: Seq::new(0),
            ecn: EcnState::default(),
            staged: None,
            stats: Stats::default(),
        }
    }

    /// The window that is offered before anything has arrived: what a sender starts with.
    pub fn initial_window(&self) -> u32 {
        self.window.offered(self.data.next)
    }

    /// Takes in the round-trip time that the handshake measured.
    pub fn seed_rtt(&mut self, rtt: Delta) {
        self.acking.seed(rtt);
    }

    /// Takes in a segment. To be followed by `poll_ack`, then maybe `read`.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        self.enter(now);
        self.stats.segments_received += 1;
        self.stats.bytes_received += u64::from(segment.len);
        if !self.is_acceptable(segment) {
            self.reject(segment);
        } else {
            self.accept(segment);
        }
        self.decide_to_ack();
    }

    /// Several calls come at one time.
    #[inline]
    fn enter(&mut self, now: Time) {
        if now != self.now {
            self.now = now;
            self.now_us = clock_us(now);
        }
    }

    /// Before anything of a segment counts: its timestamp, then its place.
    fn is_acceptable(&mut self, segment: &Segment) -> bool {
        let echo = self.echo;
        let is_late = segment
            .timestamps
            .is_some_and(|own| own.is_out_of_date(echo));
        self.stats.out_of_date += u64::from(is_late);
        !is_late && segment.end() >= self.window.updated
    }

    /// Answers at once, so that the sender learns what is still missing.
    fn reject(&mut self, segment: &Segment) {
        self.sacks.duplicate = None;
        if segment.len > 0 && segment.seq < self.data.next {
            self.stats.duplicates += u64::from(segment.end() <= self.data.next);
            self.sacks.duplicate = Some(Block {
                start: segment.seq,
                end: segment.end().min(self.data.next),
            });
            self.want_quick_acks(acking::MAX_QUICK_ACKS);
        }
        self.acking.now = true;
        self.acking.scheduled = true;
    }

    fn accept(&mut self, segment: &Segment) {
        self.take_timestamps(segment);
        if segment.cwr {
            self.ecn.echo = false;
            self.acking.now |= segment.len > 0;
        }
        if segment.len == 0 {
            // A probe of the window: answered at once.
            self.acking.now = true;
            self.acking.scheduled = true;
        } else {
            self.take_data(segment);
        }
    }

    fn take_data(&mut self, segment: &Segment) {
        self.sacks.duplicate = None;
        let right_edge = self.window.right_edge();
        let is_within = segment.seq < right_edge || segment.end() <= self.data.next;
        let is_closed = segment.seq == self.data.next && right_edge == self.data.next;
        if !is_within || is_closed {
            self.stats.out_of_window += 1;
            self.want_quick_acks(acking::MAX_QUICK_ACKS);
            self.acking.scheduled = true;
            return;
        }
        let mut round = None;
        match self
            .data
            .insert(segment.seq, segment.end(), &mut self.sacks)
        {
            Arrival::Duplicate => {
                self.stats.duplicates += 1;
                self.want_quick_acks(acking::MAX_QUICK_ACKS);
                self.acking.scheduled = true;
            }
            Arrival::InOrder => {
                round = self.in_order(segment);
                if !self.sacks.is_empty() && self.data.holes_are_filled() {
                    self.acking.now = true;
                }
                self.sacks
                    .advance(self.data.next, self.data.holes_are_filled());
            }
            Arrival::OutOfOrder { is_new } => {
                self.check_ecn(segment.ecn);
                self.acking.measure(segment);
                self.acking.scheduled = true;
                self.stats.out_of_order += 1;
                self.add_sack(segment);
                if is_new {
                    self.grow_window_threshold(segment.len);
                }
            }
        }
        self.tell_rule(segment, round);
    }

    /// The round-trip time, if a window of data has arrived.
    fn in_order(&mut self, segment: &Segment) -> Option<u32> {
        self.acking.scheduled = true;
        self.acking.measure(segment);
        self.packets
            .arrived(segment.end(), self.data.next, self.acking.segment_size);
        let round = self.measure_round();
        self.pace_acks();
        self.check_ecn(segment.ecn);
        if segment.len >= 128 {
            self.grow_window_threshold(segment.len);
        }
        round
    }

    fn tell_rule(&mut self, segment: &Segment, round: Option<u32>) {
        let rtt_us = match segment.timestamps {
            Some(_) => self.measure_by_echo(segment),
            None => round,
        };
        let view = View {
            rtt_us,
            is_retransmission: segment.is_retransmission,
            ..self.view()
        };
        self.rule.on_segment(&view, segment.len);
    }

    /// Reads up to `bytes` of what has arrived in order; returns how many.
    pub fn read(&mut self, now: Time, bytes: u64) -> u64 {
        self.enter(now);
        let bytes = bytes.min(self.readable());
        if bytes > 0 {
            self.read_packets(self.read + bytes);
            self.ack_after_read();
        }
        bytes
    }

    /// The rule looks after each packet, when those behind it still wait.
    fn read_packets(&mut self, end: u64) {
        while self.read < end {
            self.read = self.packets.take(end);
            self.rule.on_read(&self.view());
        }
    }

    /// Bytes that have arrived in order and are not read.
    #[inline]
    pub fn readable(&self) -> u64 {
        self.data.next - self.read
    }

    /// Whether an application that waits for data is woken: enough is there, or the window is used up.
    #[inline]
    pub fn is_worth_reading(&self) -> bool {
        let readable = self.readable();
        let left = self.window.offered(self.data.next);
        readable >= u64::from(self.params.low_water)
            || (readable > 0 && left <= self.acking.segment_size)
    }

    /// Bytes that have arrived in order so far.
    #[inline]
    pub fn received(&self) -> u64 {
        self.data.next
    }

    /// The next acknowledgement to send, if one is due. To be called until there is none.
    #[inline]
    pub fn poll_ack(&mut self, now: Time) -> Option<Ack> {
        if self.staged.is_some() {
            return self.staged.take();
        }
        if !self.acking.due {
            return None;
        }
        self.enter(now);
        Some(self.make_ack())
    }

    /// When `on_timeout` is to be called; asked again after every other call.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.acking.timeout()
    }

    /// Sends an acknowledgement whose delay is over.
    pub fn on_timeout(&mut self, now: Time) {
        self.enter(now);
        self.expire_ack_timers();
    }

    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    fn view(&self) -> View {
        View {
            now_us: self.now_us,
            mss: self.params.mss,
            rtt_us8: self.rtt.smoothed_us8(),
            rtt_us: None,
            min_rtt_us: self.rtt.min_us(),
            received: self.data.next,
            read: self.read,
            is_retransmission: false,
        }
    }

    fn take_timestamps(&mut self, segment: &Segment) {
        // Only what fills the front of the window, so that a delayed ACK echoes the earliest
        // (RFC 7323 section 4.3).
        if let Some(timestamps) = segment.timestamps
            && segment.seq <= self.window.updated
        {
            self.echo = self.echo.later(timestamps.value);
        }
    }

    #[inline]
    fn check_ecn(&mut self, ecn: Ecn) {
        if self.params.ecn != EcnMode::Off {
            self.count_ecn(ecn);
        }
    }

    #[inline(never)]
    fn count_ecn(&mut self, ecn: Ecn) {
        match ecn {
            Ecn::NotEct if self.ecn.seen => self.want_quick_acks(2),
            Ecn::NotEct => {}
            Ecn::Ce => {
                self.stats.ce_received += 1;
                self.ecn.ce_packets += 1;
                if !self.ecn.echo {
                    self.want_quick_acks(2);
                    self.ecn.echo = self.params.ecn == EcnMode::Classic;
                }
                self.ecn.seen = true;
            }
            Ecn::Ect0 | Ecn::Ect1 => self.ecn.seen = true,
        }
    }

    fn make_ack(&mut self) -> Ack {
        let window = self.select_window();
        self.acking.sent();
        self.stats.acks_sent += 1;
        self.stats.zero_windows += u64::from(window == 0);
        let limit = if self.params.timestamps { 3 } else { 4 };
        Ack {
            ack: self.data.next,
            window,
            timestamps: self.params.timestamps.then(|| Timestamps {
                value: Timestamps::clock(self.now),
                echo: self.echo,
            }),
            sack: self.sacks.option(self.data.next, limit),
            ece: self.ecn.echo,
            ce: (self.params.ecn == EcnMode::Accurate).then_some(CeCount {
                packets: self.ecn.ce_packets,
            }),
        }
    }
}

/// Microseconds since a second before the origin of time, so that zero can mean "never".
fn clock_us(now: Time) -> u64 {
    (now.as_ns() / 1_000 + 1_000_000) as u64
}
