//! What the sender of one side knew when it sent, and what made it send again.
//!
//! # How a timeout is told from a fast retransmission
//! A sender repeats a segment because an ACK told it of a loss (fast retransmit, RACK, recovery), or
//! because none came (RFC 6298 timeout, RFC 8985 tail loss probe). ACKs act on the sender one
//! monitor-to-sender round trip after they passed the monitor; where segments carry timestamps, an
//! ACK newer than the echo in the segment has not acted yet. From the ACKs that have acted follow
//! the first unacknowledged byte and the time at which the timer was restarted last:
//!
//! 1. an ACK that acknowledged new bytes (RFC 6298 §5.3);
//! 2. a SACK of data older than the last copy of the first unacknowledged segment, if the sender
//!    is one that counts it (Linux since 3.12 does);
//! 3. the last copy of the first unacknowledged segment (Linux restarts on retransmission);
//! 4. a tail loss probe (RFC 8985 §7.3).
//!
//! A copy of the first unacknowledged segment is a timeout if for one smallest round trip of the
//! sender nothing told of its loss: RFC 6298 timeouts are longer than that by definition, and what
//! ACKs cause comes within the RACK reordering window, a quarter of the smallest round trip. What
//! tells of a loss is a SACK of anything sent later than the segment's last copy. The copy is a
//! probe instead if it is the last segment too, and the first one since the last ACK.
//!
//! No timeout of a common system is shorter than 200 ms (Linux: `TCP_RTO_MIN`; FreeBSD and macOS add
//! a slop of 200 ms; Windows: 300 ms; RFC 6298 §2.4: 1 s). A SACK within that time did therefore not restart the timer
//! that ran out, and a copy that comes sooner after all else is called *early*, not a timeout: RACK, a probe, or
//! an ACK that the capture lacks made the sender repeat it.

use super::Flow;
use crate::tcp::{AckKind, Segment};
use std::collections::VecDeque;
use unbloat_units::{Delta, Direction, Seq, Time};
use unbloat_wire::{PacketFlags, SackBlock};

/// Why a segment was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The timer ran out, after so long; `repeated` without an ACK since the last time.
    Timeout { after: Delta, repeated: bool },
    /// A tail loss probe, so long after the timer's restart.
    Probe { after: Delta },
    /// Nothing that was captured asked for it, and no timer of a common system runs out so soon.
    Early { after: Delta },
    /// ACKs told of a loss, and recovery begins.
    FastRetransmit,
    /// Part of a recovery that is under way.
    Recovery,
}

/// An ACK on its way from the monitor to the sender.
#[derive(Clone, Copy, Debug)]
struct Notice {
    passed: Time,
    tsval: Option<Seq>,
    ack: Seq,
    /// Its first SACK block, unless that reports a duplicate.
    sacked: Option<SackBlock>,
}

/// A segment that was sent again.
#[derive(Clone, Copy, Debug)]
struct Copy {
    first: Seq,
    end: Seq,
    /// Highest byte sent before it.
    high: Seq,
}

/// The sender of one side as far as the monitor can follow.
#[derive(Clone, Debug, Default)]
pub(super) struct Sender {
    on_their_way: VecDeque<Notice>,
    /// When the first of them passed; means nothing without any.
    next: Time,
    /// When a segment passed that the sender sent without knowing of these.
    unknown_at: Time,
    una: Seq,
    /// When the timer was restarted last, as a time at the monitor; SACKs apart.
    restart: Time,
    /// When a SACK restarted it, if this sender does so.
    sack_restart: Time,
    /// When something first told of the loss of the first unacknowledged segment's last copy.
    told: Option<Time>,
    /// When the newest ACK that it knows of reached it.
    heard: Time,
    /// What was sent again and is not acknowledged, in the order sent.
    copies: Vec<Copy>,
    /// End of the recovery that is under way.
    recovery: Option<Seq>,
    /// ACKs with SACK blocks since the first unacknowledged byte moved.
    sacks: u32,
    probed: bool,
    timeouts_in_a_row: u32,
}

impl Sender {
    /// ACKs on their way beyond this are forgotten, the oldest at once taken as known.
    const MAX_NOTICES: usize = 512;
    /// Copies remembered in one recovery, the first ones: they are acknowledged first.
    const MAX_COPIES: usize = 256;
    /// Clocks of captures and paths are not exact; the floor of the delay is.
    const JITTER: Delta = Delta::ms(1);
    /// By how much a timeout must exceed a round trip where ACKs come all the while. Those of Linux
    /// exceed it by 200 ms.
    const LONGER_IN_STREAM: Delta = Delta::ms(100);
    /// Timers and schedulers of senders are not more precise than this: what ACKs ask for comes within
    /// a round trip, and this.
    const SHORTEST_SILENCE: Delta = Delta::ms(20);
    /// 200 ms less what clocks of senders and captures are off: ticks of 10 ms at both ends.
    const SHORTEST_TIMEOUT: Delta = Delta::ms(180);

    /// Begins to watch at the first sign of trouble; `last_ack` passed before it.
    pub(super) fn begin(side: Direction, last_ack: Time, flow: &Flow<'_>) -> Sender {
        let half = flow.half(side);
        let restart = last_ack + delay(side, flow);
        Sender {
            unknown_at: last_ack,
            heard: restart,
            una: half.acked().unwrap_or(half.base()),
            restart,
            sack_restart: restart,
            ..Sender::default()
        }
    }

    /// An ACK about this side's data passed the monitor.
    pub(super) fn on_ack(&mut self, seg: &Segment<'_>) {
        let header = seg.header;
        let has_timestamps = header.flags.has(PacketFlags::TIMESTAMPS);
        let is_news = seg.acked > 0 || seg.ack == AckKind::Duplicate;
        if !is_news {
            return;
        }
        if self.on_their_way.len() >= Self::MAX_NOTICES
            && let Some(oldest) = self.pop()
        {
            self.learn(&oldest, oldest.passed);
        }
        let has_options = header.options_len > 0;
        let first_block = has_options.then(|| seg.sack_blocks().next()).flatten();
        if self.on_their_way.is_empty() {
            self.next = seg.now;
        }
        self.on_their_way.push_back(Notice {
            passed: seg.now,
            tsval: has_timestamps.then_some(header.tsval),
            ack: header.ack,
            sacked: first_block.filter(|block| block.right.after(header.ack)),
        });
    }

    /// Lets the sender learn what had reached it when it sent `seg`.
    #[inline]
    pub(super) fn catch_up(&mut self, seg: &Segment<'_>, flow: &Flow<'_>) {
        if !self.on_their_way.is_empty() {
            self.catch_up_with(seg, flow);
        }
    }

    /// At least one ACK is on its way.
    #[inline(never)]
    fn catch_up_with(&mut self, seg: &Segment<'_>, flow: &Flow<'_>) {
        let delay = delay(seg.side, flow);
        let header = seg.header;
        let echo = header
            .flags
            .has(PacketFlags::TIMESTAMPS)
            .then_some(header.tsecr);
        let is_newer = |(sent, echoed): (Seq, Seq)| sent.after(echoed);
        while !self.on_their_way.is_empty() {
            let is_early = self.next + delay > seg.now + Self::JITTER;
            let tsval = || self.on_their_way.front().and_then(|notice| notice.tsval);
            if is_early || tsval().zip(echo).is_some_and(is_newer) {
                self.unknown_at = seg.now;
                break;
            }
            let acts = (self.next + delay).max(self.unknown_at).min(seg.now);
            if let Some(notice) = self.pop() {
                self.learn(&notice, acts);
            }
        }
    }

    fn pop(&mut self) -> Option<Notice> {
        let notice = self.on_their_way.pop_front()?;
        if let Some(next) = self.on_their_way.front() {
            self.next = next.passed;
        }
        Some(notice)
    }

    fn learn(&mut self, notice: &Notice, acts: Time) {
        self.heard = self.heard.max(acts);
        if notice.ack.after(self.una) {
            self.una = notice.ack;
            self.copies.retain(|copy| copy.end.after(notice.ack));
            self.sacks = 0;
            self.probed = false;
            self.timeouts_in_a_row = 0;
            self.restart = self.restart.max(acts);
            self.told = None;
            if self.recovery.is_some_and(|end| !end.after(self.una)) {
                self.recovery = None;
            }
        } else if let Some(block) = notice.sacked {
            self.sacks += 1;
            let copy = self.copies.iter().rposition(|c| !c.first.after(self.una));
            let tells = copy.is_none_or(|copy| self.tells(block, copy));
            if tells {
                self.told.get_or_insert(acts);
            }
            if !tells || copy.is_none() {
                self.sack_restart = self.sack_restart.max(acts);
            }
        }
    }

    /// Whether the block reports anything sent later than copy number `copy`.
    fn tells(&self, block: SackBlock, copy: usize) -> bool {
        let holds = |c: &Copy| !c.first.before(block.left) && c.first.before(block.right);
        block.right.after(self.copies[copy].high) || self.copies[copy + 1..].iter().any(holds)
    }

    /// Judges a segment that fills a gap or repeats bytes.
    pub(super) fn judge(&mut self, seg: &Segment<'_>, flow: &Flow<'_>) -> Cause {
        let half = flow.half(seg.side);
        let end = seg.header.seq + seg.header.seq_len();
        let is_head = !seg.header.seq.after(self.una);
        let is_last = end == half.high();
        let floor = round_trip_floor(seg.side, flow);
        if is_head && let Some(ago) = seg.since_last_copy {
            self.restart = self.restart.max(seg.now - ago);
        }
        let shortest = floor.max(Self::SHORTEST_SILENCE);
        let is_calm = self.recovery.is_none() && self.sacks == 0 && !self.probed;
        let cause = if self.is_asked_for(seg.now, shortest) {
            self.asked_for()
        } else if is_last && is_calm && !is_sack_refused(flow) {
            let after = seg.now.since(self.restart);
            Cause::Probe { after }
        } else if is_head {
            let latest = seg.now - shortest.max(Self::SHORTEST_TIMEOUT);
            let after = seg.now.since(self.restart_before(latest));
            let repeated = self.timeouts_in_a_row > 0;
            if after < Self::SHORTEST_TIMEOUT {
                Cause::Early { after }
            } else {
                Cause::Timeout { after, repeated }
            }
        } else {
            self.asked_for()
        };
        let copy = Copy {
            first: seg.header.seq,
            end,
            high: half.high(),
        };
        self.sent_again(cause, is_head, copy, seg.now);
        cause
    }

    /// Whether ACKs explain a copy of the first unacknowledged segment at `now`.
    fn is_asked_for(&self, now: Time, shortest: Delta) -> bool {
        let is_fresh = |since: Time, within: Delta| now.since(since) < within;
        // ACKs that still come may tell of a copy that was lost before the monitor.
        let within = if is_fresh(self.heard, shortest) {
            shortest + Self::LONGER_IN_STREAM
        } else {
            shortest
        };
        is_fresh(self.restart, shortest) || self.told.is_some_and(|told| is_fresh(told, within))
    }

    /// The restart of a timer that ran out at `latest` or later: SACKs after that cannot have
    /// restarted it.
    fn restart_before(&self, latest: Time) -> Time {
        if self.sack_restart <= latest {
            self.restart.max(self.sack_restart)
        } else {
            self.restart
        }
    }

    fn asked_for(&self) -> Cause {
        if self.recovery.is_some() {
            Cause::Recovery
        } else {
            Cause::FastRetransmit
        }
    }

    fn sent_again(&mut self, cause: Cause, is_head: bool, copy: Copy, now: Time) {
        match cause {
            Cause::Probe { .. } => {
                self.probed = true;
                self.restart = now;
            }
            Cause::Timeout { .. } => {
                self.timeouts_in_a_row += 1;
                self.recovery = Some(copy.high);
            }
            Cause::FastRetransmit | Cause::Early { .. } => self.recovery = Some(copy.high),
            Cause::Recovery => {}
        }
        if is_head {
            self.restart = now;
            self.told = None;
        }
        if self.copies.len() < Self::MAX_COPIES {
            self.copies.push(copy);
        }
    }
}

/// The smallest round trip of the sender: what the monitor saw of it below and above.
pub(super) fn round_trip_floor(side: Direction, flow: &Flow<'_>) -> Delta {
    flow.half(side).rtt_floor().unwrap_or(Delta::ZERO) + delay(side, flow)
}

/// From an ACK at the monitor to the data that the sender sends on it.
pub(super) fn delay(side: Direction, flow: &Flow<'_>) -> Delta {
    flow.half(side.reverse()).rtt_floor().unwrap_or(Delta::ZERO)
}

fn is_sack_refused(flow: &Flow<'_>) -> bool {
    flow.halves.iter().any(crate::tcp::Half::is_sack_refused)
}
