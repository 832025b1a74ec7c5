//! One direction of data: the sender's sequence space and the receiver's answers to it.

use super::gaps::{Above, Gaps};
use super::ring::Ring;
use super::segment::{AckKind, DataKind, RttSample, Segment};
use unbloat_units::{Delta, Seq, Time};
use unbloat_wire::{PacketFlags, PacketHeader, SackBlock};

/// State of one direction of a flow. Small, because there are two for every live flow; what only
/// flows in trouble need is kept aside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Half {
    ring: Ring,
    trouble: Option<Box<Trouble>>,
    /// The first byte of the direction that was seen; the SYN where there was one.
    base: Seq,
    /// One past the highest byte seen.
    high: Seq,
    /// The highest acknowledgement.
    acked: Seq,
    /// The receiver's window field as it came last.
    raw_window: u16,
    /// Smallest clean round trip of this data, in microseconds; zero before the first.
    rtt_floor_us: u32,
    /// Second copies of packets that were captured twice; nothing else here knows of them.
    copies: u32,
    dup_acks: u16,
    scale: Scale,
    /// What [`Half::window_shift`] gives: every packet asks, but only SYNs change it.
    shift: Option<u8>,
    known: u8,
}

/// What was seen of the receiver's window scale option (RFC 7323 §2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Its SYN is not in the trace.
    #[default]
    Unseen,
    /// Its SYN did not offer the option.
    NotOffered,
    Shift(u8),
}

impl Scale {
    /// The shift of the end that offered this, where the other end offered `other`.
    fn with(self, other: Scale) -> Option<u8> {
        match (self, other) {
            (Scale::Unseen, _) | (_, Scale::Unseen) => None,
            (Scale::Shift(shift), Scale::Shift(_)) => Some(shift),
            _ => Some(0),
        }
    }
}

const DATA: u8 = 1;
const ACKED: u8 = 2;
const SYN: u8 = 4;
const NO_SACK: u8 = 8;
/// An ACK of the other end was seen, so that what is outstanding can be told: after a SYN alone the
/// other direction may not be in the capture at all.
const HEARD: u8 = 16;
const IN_FLIGHT: u8 = DATA | ACKED | HEARD;

/// Positions further apart than the largest window (RFC 7323 §2.3: 1 GiB) are not of one
/// connection.
const MAX_WINDOW: u32 = 1 << 30;

#[derive(Clone, Debug, Default)]
struct Trouble {
    gaps: Gaps,
    /// Copies of payload whose ACK is awaited.
    copies: Vec<Copy>,
    /// Ends of copies that an echoed timestamp showed to be needless: they may still arrive, and
    /// the DSACK then tells of the same copy again.
    needless: Vec<Seq>,
    /// The highest byte that a SACK block reported.
    sacked: Option<Seq>,
}

#[derive(Clone, Copy, Debug)]
struct Copy {
    first: Seq,
    end: Seq,
    tsval: Seq,
}

impl Trouble {
    const MAX_COPIES: usize = 64;

    /// Whether an ACK from `before` to `ack` shows by its echo that a copy was needless.
    ///
    /// Of an ACK for several segments the echo is that of the first of them (RFC 7323 §4.3), so it
    /// tells of a copy of that one only: it is older than the copy if an earlier one got through.
    fn settle_copies(&mut self, before: Seq, ack: Seq, tsecr: Seq) -> bool {
        let mut eifel = false;
        let needless = &mut self.needless;
        self.copies.retain(|copy| {
            let covered = !copy.end.after(ack);
            let is_first = !copy.first.after(before);
            if covered && is_first && !eifel && tsecr.before(copy.tsval) {
                eifel = true;
                if needless.len() < Self::MAX_COPIES {
                    needless.push(copy.end);
                }
            }
            !covered
        });
        eifel
    }

    /// Whether a DSACK of the copy that ends at `end` is the first to tell that it was needless.
    fn is_first_told(&mut self, end: Seq) -> bool {
        self.copies.retain(|copy| copy.end != end);
        let told = self.needless.iter().position(|&copy| copy == end);
        told.is_none_or(|at| {
            self.needless.swap_remove(at);
            false
        })
    }
}

/// Microseconds of a flow's life, wrapping.
pub(crate) fn micros(start: Time, now: Time) -> u32 {
    // Wrapping as well, so that nothing has to saturate first.
    Delta::ns(now.as_ns().wrapping_sub(start.as_ns())).as_us() as u32
}

/// From one such time to another: negative where the capture's clock was set back, at most 35 minutes.
#[inline]
pub(crate) fn since_micros(now_us: u32, before_us: u32) -> Delta {
    Delta::us(i64::from(now_us.wrapping_sub(before_us) as i32))
}

fn timestamp(header: &PacketHeader) -> Option<Seq> {
    header
        .flags
        .has(PacketFlags::TIMESTAMPS)
        .then_some(header.tsval)
}

/// The IP identification where it can tell packets apart; many senders leave it zero.
fn ip_id(header: &PacketHeader) -> Option<u16> {
    (header.flags.has(PacketFlags::IP_ID) && header.ip_id != 0).then_some(header.ip_id)
}

impl Half {
    /// Bytes of sequence space covered, SYN and FIN included; `None` without any data.
    pub(crate) fn span(&self) -> Option<u32> {
        (self.known & DATA != 0).then(|| self.high.since(self.base) as u32)
    }

    /// Payload bytes of the span, less those neither seen nor acknowledged; SYN and, if `finished`,
    /// FIN take one number each.
    pub(crate) fn unique_payload(&self, finished: bool) -> Option<u64> {
        let controls = u32::from(self.is_syn_seen()) + u32::from(finished);
        self.span()
            .map(|span| u64::from(span.saturating_sub(controls)).saturating_sub(self.missing()))
    }

    pub(crate) fn is_syn_seen(&self) -> bool {
        self.known & SYN != 0
    }

    /// The first byte seen, from which positions are counted in tables.
    pub(crate) fn base(&self) -> Seq {
        self.base
    }

    pub(crate) fn high(&self) -> Seq {
        self.high
    }

    /// The highest acknowledgement seen.
    pub(crate) fn acked(&self) -> Option<Seq> {
        (self.known & HEARD != 0).then_some(self.acked)
    }

    pub(crate) fn is_outstanding(&self) -> bool {
        self.known & (DATA | ACKED) == DATA | ACKED && self.high.after(self.acked)
    }

    /// Bytes below the highest that were never seen and never acknowledged.
    pub(crate) fn missing(&self) -> u64 {
        self.trouble.as_ref().map_or(0, |t| t.gaps.missing())
    }

    /// The receiver offers this in its SYN; `other` is the opposite direction.
    pub(crate) fn set_scale(&mut self, scale: Scale, other: &mut Half) {
        self.scale = scale;
        self.shift = scale.with(other.scale);
        other.shift = other.scale.with(scale);
    }

    /// The receiver's SYN was seen and did not permit SACK.
    pub(crate) fn refuse_sack(&mut self) {
        self.known |= NO_SACK;
    }

    pub(crate) fn is_sack_refused(&self) -> bool {
        self.known & NO_SACK != 0
    }

    /// The receiver's scale, once both SYNs were seen.
    pub(crate) fn window_shift(&self) -> Option<u8> {
        self.shift
    }

    /// The receive window that rules this data as it was granted last, if the scale is known.
    pub(crate) fn window(&self) -> Option<u32> {
        self.shift.map(|shift| u32::from(self.raw_window) << shift)
    }

    /// Smallest clean round trip of this data so far.
    pub(crate) fn rtt_floor(&self) -> Option<Delta> {
        (self.rtt_floor_us > 0).then(|| Delta::us(i64::from(self.rtt_floor_us)))
    }

    /// When the outstanding packet that ends at `end` passed, in [`micros`], if its bytes were seen
    /// once and in order.
    pub(crate) fn sent_once(&self, end: Seq) -> Option<u32> {
        let packet = self.ring.find(end)?;
        (packet.end == end && packet.is_clean).then_some(packet.sent_us)
    }

    /// Gives memory back that holds nothing.
    #[inline]
    pub(crate) fn release_if_idle(&mut self) {
        self.ring.release_if_idle();
    }

    /// Asks for the memory that an ACK touches first.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.ring.prefetch();
    }

    /// The packet begins where the data ended so far, and what they ask for is known.
    #[inline]
    pub(crate) fn is_continued_by(&self, header: &PacketHeader) -> bool {
        self.known & IN_FLIGHT == IN_FLIGHT && header.seq == self.high
    }

    /// [`Half::on_data`] for payload that continues the data.
    #[inline]
    pub(crate) fn on_next_data(&mut self, seg: &mut Segment<'_>) {
        let header = seg.header;
        self.high = header.seq + header.payload_len;
        let in_flight = self.outstanding();
        self.ring.push(self.high, seg.now_us, in_flight);
        seg.data = DataKind::InOrder;
        seg.advanced = header.payload_len;
        seg.in_flight = Some(in_flight);
    }

    /// [`Half::on_data`] for a packet that takes no sequence space.
    #[inline]
    pub(crate) fn on_no_data(&mut self, seg: &mut Segment<'_>) {
        if self.known & IN_FLIGHT == IN_FLIGHT {
            seg.in_flight = Some(self.outstanding());
        }
    }

    #[inline]
    fn outstanding(&self) -> u32 {
        self.high.since(self.acked).max(0) as u32
    }

    /// Takes the sender's packet into account.
    #[inline]
    pub(crate) fn on_data(&mut self, seg: &mut Segment<'_>) {
        let header = seg.header;
        let len = header.seq_len();
        if len > 0 {
            self.classify(seg, len, seg.now_us);
        }
        self.on_no_data(seg);
    }

    #[inline]
    fn classify(&mut self, seg: &mut Segment<'_>, len: u32, now_us: u32) {
        let header = seg.header;
        let (begin, end) = (header.seq, header.seq + len);
        if self.known & DATA == 0 {
            self.begin(header, end);
            seg.data = DataKind::InOrder;
            seg.advanced = len;
            self.remember(now_us);
        } else if begin == self.high {
            self.advance(end);
            seg.data = DataKind::InOrder;
            seg.advanced = len;
            self.remember(now_us);
        } else if begin.since(self.high).unsigned_abs() > MAX_WINDOW {
            seg.data = DataKind::Stray;
        } else if begin.after(self.high) {
            self.open_gap(seg, begin);
            self.advance(end);
            seg.data = DataKind::AboveGap;
            seg.advanced = len;
            self.remember(now_us);
        } else {
            self.below(seg, begin, end, now_us);
        }
    }

    fn begin(&mut self, header: &PacketHeader, end: Seq) {
        self.base = header.seq;
        self.known |= DATA;
        if header.tcp_flags.syn() {
            self.known |= SYN | ACKED;
            self.acked = header.seq;
        }
        self.advance(end);
    }

    fn advance(&mut self, end: Seq) {
        self.high = end;
    }

    /// Keeps the packet until its ACK, if ACKs of this direction can be told.
    fn remember(&mut self, now_us: u32) {
        let in_flight = if self.known & ACKED != 0 {
            self.outstanding()
        } else {
            0
        };
        self.ring.push(self.high, now_us, in_flight);
    }

    fn trouble(&mut self) -> &mut Trouble {
        self.trouble.get_or_insert_default()
    }

    fn open_gap(&mut self, seg: &Segment<'_>, begin: Seq) {
        let above = Above {
            time: seg.now,
            tsval: timestamp(seg.header),
            ip_id: ip_id(seg.header),
        };
        let high = self.high;
        self.trouble().gaps.open(high, begin, above);
    }

    /// A segment that begins below the highest byte seen.
    #[cold]
    fn below(&mut self, seg: &mut Segment<'_>, begin: Seq, end: Seq, now_us: u32) {
        let header = seg.header;
        let top = if end.after(self.high) { self.high } else { end };
        seg.data = self.kind_below(seg, begin, end, top);
        if seg.data == DataKind::BeforeCapture {
            return;
        }
        // A copy of what is acknowledged says nothing of what is outstanding.
        let is_needless = self.acked().is_some_and(|acked| !top.after(acked));
        if !is_needless && !matches!(seg.data, DataKind::KeepAlive) {
            let last_us = self.ring.mark(begin, top, now_us);
            let since = last_us.map(|us| since_micros(now_us, us));
            seg.since_last_copy = since.filter(|since| !since.is_negative());
        }
        if seg.data == DataKind::Retransmission
            && header.payload_len > 0
            && let Some(tsval) = timestamp(header)
        {
            let copies = &mut self.trouble().copies;
            if copies.len() < Trouble::MAX_COPIES {
                copies.push(Copy {
                    first: begin,
                    end: top,
                    tsval,
                });
            }
        }
        if end.after(self.high) {
            seg.advanced = end.since(self.high) as u32;
            self.advance(end);
            self.remember(now_us);
        }
    }

    fn kind_below(&mut self, seg: &Segment<'_>, begin: Seq, end: Seq, top: Seq) -> DataKind {
        let header = seg.header;
        let filled = self.trouble.as_mut().and_then(|t| t.gaps.fill(begin, top));
        if let Some((_, above)) = filled {
            return told_apart(seg, &above);
        }
        if !end.after(self.base) {
            return DataKind::BeforeCapture;
        }
        if self.is_keep_alive(header, begin, end) {
            return DataKind::KeepAlive;
        }
        if self.raw_window == 0 && header.payload_len <= 1 && self.known & ACKED != 0 {
            return DataKind::WindowProbe;
        }
        DataKind::Retransmission
    }

    /// At most one byte, the last one that is already acknowledged, and nothing outstanding.
    fn is_keep_alive(&self, header: &PacketHeader, begin: Seq, end: Seq) -> bool {
        header.payload_len <= 1
            && header.tcp_flags.0 & 0x07 == 0
            && !end.after(self.high)
            && begin + 1 == self.high
            && self.known & ACKED != 0
            && self.acked == self.high
    }

    /// The ACK is the one that was known.
    #[inline]
    pub(crate) fn is_acked_again_by(&self, header: &PacketHeader) -> bool {
        self.known & HEARD != 0 && header.ack == self.acked
    }

    /// The ACK moves forward, as far as one may.
    #[inline]
    pub(crate) fn is_advanced_by(&self, header: &PacketHeader) -> bool {
        let ahead = header.ack.since(self.acked);
        self.known & HEARD != 0 && ahead > 0 && ahead.unsigned_abs() <= MAX_WINDOW
    }

    /// [`Half::on_ack`] where the ACK is the one that was known and comes with payload.
    #[inline]
    pub(crate) fn on_ack_again(&mut self, seg: &mut Segment<'_>) {
        seg.ack = AckKind::Same;
        self.grant(seg);
    }

    /// [`Half::on_ack`] where the ACK advances, without options that were kept.
    #[inline]
    pub(crate) fn on_next_ack(&mut self, seg: &mut Segment<'_>) {
        self.advance_ack(seg, seg.header.ack);
        self.grant(seg);
    }

    /// The window that a packet without SYN grants, and what is outstanding after it.
    #[inline]
    fn grant(&mut self, seg: &mut Segment<'_>) {
        self.raw_window = seg.header.window;
        seg.window = self.window();
        if self.known & DATA != 0 {
            seg.remaining = self.outstanding();
        }
    }

    /// Takes the receiver's packet into account, which travels against this direction.
    #[inline]
    pub(crate) fn on_ack(&mut self, seg: &mut Segment<'_>) {
        let header = seg.header;
        if header.tcp_flags.rst() || !header.tcp_flags.ack() {
            if header.tcp_flags.syn() {
                self.raw_window = header.window;
                seg.window = Some(u32::from(header.window));
            }
            return;
        }
        let ack = header.ack;
        if self.known & ACKED == 0 {
            self.first_ack(seg, ack);
        } else if ack == self.acked {
            seg.ack = self.same_ack(seg);
        } else if ack.before(self.acked) || ack.since(self.acked) as u32 > MAX_WINDOW {
            seg.ack = AckKind::Old;
        } else {
            self.advance_ack(seg, ack);
        }
        if seg.ack != AckKind::Old {
            self.known |= HEARD;
            self.raw_window = header.window;
            let scaled = if header.tcp_flags.syn() {
                Some(0)
            } else {
                self.shift
            };
            seg.window = scaled.map(|s| u32::from(header.window) << s);
        }
        if self.known & DATA != 0 {
            seg.remaining = self.outstanding();
        }
        if seg.header.options_len > 0 && !header.tcp_flags.syn() {
            let duplicate = reported_duplicate(seg, ack);
            seg.dsack = duplicate.is_some();
            seg.dsack_repeats = duplicate.is_some_and(|copy| {
                let trouble = self.trouble.as_mut();
                trouble.is_some_and(|trouble| !trouble.is_first_told(copy.right))
            });
            seg.sacked_rtt = self.sacked_rtt(seg);
        }
    }

    /// The round trip of the packet that an ACK with SACK answers: the last one of the bytes that its first block (RFC 2018 §4: the
    /// most recent) reports and none before it did.
    fn sacked_rtt(&mut self, seg: &Segment<'_>) -> Option<Delta> {
        let right = seg.sack_blocks().next()?.right;
        let is_new = |sacked: Seq| right.after(sacked) || sacked.before(seg.header.ack);
        if seg.dsack || !self.trouble().sacked.is_none_or(is_new) {
            return None;
        }
        self.trouble().sacked = Some(right);
        let rtt = since_micros(seg.now_us, self.sent_once(right)?);
        (!rtt.is_negative()).then_some(rtt)
    }

    fn first_ack(&mut self, seg: &mut Segment<'_>, ack: Seq) {
        let far = self.known & DATA != 0 && ack.since(self.high).unsigned_abs() > MAX_WINDOW;
        if far {
            seg.ack = AckKind::Old;
            return;
        }
        seg.ack = AckKind::First;
        self.known |= ACKED;
        self.acked = ack;
        // What was outstanding before the first ACK carries no in-flight figure: no samples.
        self.ring.acknowledge(ack);
        self.catch_up(ack);
    }

    fn same_ack(&mut self, seg: &Segment<'_>) -> AckKind {
        if !seg.is_pure_ack() {
            return AckKind::Same;
        }
        let sacks = seg.header.options_len > 0;
        let same_window = seg.header.window == self.raw_window;
        if self.is_outstanding() && (same_window || sacks) {
            self.dup_acks = self.dup_acks.saturating_add(1);
            AckKind::Duplicate
        } else if same_window {
            AckKind::Same
        } else {
            AckKind::WindowUpdate
        }
    }

    #[inline]
    fn advance_ack(&mut self, seg: &mut Segment<'_>, ack: Seq) {
        seg.ack = AckKind::Advance;
        seg.acked = ack.since(self.acked) as u32;
        self.acked = ack;
        self.dup_acks = 0;
        let popped = self.ring.acknowledge(ack);
        seg.acked_packets = popped.packets;
        if let Some(newest) = popped.newest {
            let since = |us: u32| since_micros(seg.now_us, us);
            let rtt = since(newest.sent_us);
            seg.acked_sent = Some(seg.now - rtt);
            if popped.clean && newest.end == ack && !rtt.is_negative() {
                seg.rtt = Some(RttSample {
                    rtt,
                    from_oldest: Some(since(popped.oldest_us)),
                    at_once: popped
                        .before_burst
                        .map_or(seg.acked, |end| ack.since(end) as u32),
                    in_flight: newest.in_flight,
                });
                let us = seg.now_us.wrapping_sub(newest.sent_us).max(1);
                if self.rtt_floor_us == 0 || us < self.rtt_floor_us {
                    self.rtt_floor_us = us;
                }
            }
        }
        if self.trouble.is_some() || ack.after(self.high) {
            self.settle(seg, ack);
        }
    }

    #[cold]
    fn settle(&mut self, seg: &mut Segment<'_>, ack: Seq) {
        let tsecr = seg
            .header
            .flags
            .has(PacketFlags::TIMESTAMPS)
            .then_some(seg.header.tsecr);
        let before = ack + seg.acked.wrapping_neg();
        if let Some(trouble) = &mut self.trouble {
            seg.missed = trouble.gaps.forget_below(ack);
            seg.eifel = tsecr.is_some_and(|t| trouble.settle_copies(before, ack, t));
        }
        seg.missed += self.catch_up(ack);
        if seg.missed > 0 {
            seg.rtt = None;
        }
    }

    /// The receiver has bytes that the capture never saw; returns how many.
    fn catch_up(&mut self, ack: Seq) -> u32 {
        if self.known & DATA == 0 || !ack.after(self.high) {
            return 0;
        }
        let missed = ack.since(self.high) as u32;
        self.high = ack;
        missed
    }

    pub(crate) fn count_copy(&mut self) {
        self.copies = self.copies.saturating_add(1);
    }

    pub(crate) fn copies(&self) -> u32 {
        self.copies
    }

    /// Duplicate ACKs since the last one that advanced.
    pub(crate) fn dup_acks(&self) -> u16 {
        self.dup_acks
    }
}

/// Whether a segment that fills a gap was overtaken on its way or sent again.
///
/// TSval first: what was sent again is younger than what was seen above the gap. Ticks may be too
/// coarse to tell, then the IP identification, which most senders count up per packet. Last, time:
/// within 3 ms nobody can have learnt of the loss, but a packet may have been overtaken for longer,
/// so beyond it the answer is "ambiguous".
fn told_apart(seg: &Segment<'_>, above: &Above) -> DataKind {
    const NOBODY_KNOWS_YET: Delta = Delta::ms(3);
    if let (Some(tsval), Some(tsval_above)) = (timestamp(seg.header), above.tsval) {
        if tsval.after(tsval_above) {
            return DataKind::UpstreamLoss;
        }
        if tsval.before(tsval_above) {
            return DataKind::Reordered;
        }
    }
    if let (Some(id), Some(id_above)) = (ip_id(seg.header), above.ip_id) {
        let ahead = id.wrapping_sub(id_above) as i16;
        return if ahead > 0 {
            DataKind::UpstreamLoss
        } else {
            DataKind::Reordered
        };
    }
    if seg.now.since(above.time) < NOBODY_KNOWS_YET {
        DataKind::Reordered
    } else {
        DataKind::Ambiguous
    }
}

/// The segment that was received twice. RFC 2883 §4: the first block, if it lies below the ACK or
/// within the second block.
fn reported_duplicate(seg: &Segment<'_>, ack: Seq) -> Option<SackBlock> {
    let mut blocks = seg.sack_blocks();
    let first = blocks.next()?;
    let below = first.left.before(ack) && !first.right.after(ack);
    let is_in = |b: SackBlock| !first.left.before(b.left) && !first.right.after(b.right);
    let within = blocks.next().is_some_and(is_in);
    (below || within).then_some(first)
}
