//! What is sent next, and the account of it.
//!
//! # References
//! Linux 6.12 `tcp_write_xmit`, `tcp_xmit_retransmit_queue`, `tcp_xmit_recovery`.

use super::scoreboard::Index;
use super::timer::Purpose;
use super::{EcnMode, Resend, Sender};
use crate::congestion::{Congestion, CwndEvent};
use crate::event::{Cause, Event, Limit, Observer};
use crate::segment::{Ecn, Segment};

impl Sender {
    #[inline]
    pub(super) fn next_segment(&mut self, observer: &mut dyn Observer) -> Option<Segment> {
        if self.staged.is_some() {
            return self.staged.take();
        }
        let segment = self.resend_or_new(observer);
        if segment.is_none() {
            self.end_burst();
        }
        segment
    }

    #[inline]
    fn resend_or_new(&mut self, observer: &mut dyn Observer) -> Option<Segment> {
        if self.resend != Resend::Nothing
            && let Some(segment) = self.resend(observer)
        {
            return Some(segment);
        }
        self.new_segment()
    }

    #[inline(never)]
    fn resend(&mut self, observer: &mut dyn Observer) -> Option<Segment> {
        if self.resend == Resend::NewFirst {
            let segment = self.new_segment();
            if segment.is_some() {
                return segment;
            }
            if self.flow.snd_nxt > self.recovery.high_seq {
                self.resend = Resend::Nothing;
            } else {
                self.recovery.frto = false;
                self.resend = Resend::Lost;
            }
        }
        match self.resend {
            Resend::Lost => self.lost_segment(observer),
            Resend::Nothing | Resend::NewFirst => None,
        }
    }

    /// The first lost segment that was not sent again, if the windows let it.
    fn lost_segment(&mut self, observer: &mut dyn Observer) -> Option<Segment> {
        if self.is_held_by_pacing() || self.flow.cwnd <= self.flow.in_flight() {
            return None;
        }
        let i = self.board.first_waiting()?;
        let is_first = self.board.first() == Some(i);
        let segment = self.resend_entry(i, Cause::Fast, observer);
        self.count_in_flight_copy(i);
        self.count_for_undo();
        if self.flow.is_in_reduction() {
            self.prr.out += 1;
        }
        if is_first && !self.is_armed_for(Purpose::Reordering) {
            self.arm(Purpose::Retransmission, u64::from(self.rto.rto));
        }
        Some(segment)
    }

    #[inline]
    fn new_segment(&mut self) -> Option<Segment> {
        let limit = if self.unsent() == 0 {
            Limit::Application
        } else if self.is_held_by_pacing() {
            Limit::Pacing
        } else if self.flow.in_flight() >= self.flow.cwnd {
            Limit::Congestion
        } else if !self.fits_peer_window() {
            Limit::Receiver
        } else {
            self.burst += 1;
            if self.flow.is_in_reduction() {
                self.prr.out += 1;
            }
            return Some(self.send_new());
        };
        self.stats.limited_by(self.now, limit);
        if limit == Limit::Receiver {
            self.arm_window_probe();
        }
        None
    }

    /// The next new segment, whether or not the window lets it.
    #[inline]
    pub(super) fn send_new(&mut self) -> Segment {
        let len = self.unsent().min(u64::from(self.params.mss));
        self.send_new_of(len as u16)
    }

    pub(super) fn send_new_of(&mut self, len: u16) -> Segment {
        self.before_data(u32::from(len));
        let seq = self.flow.snd_nxt;
        let end = seq + u64::from(len);
        let i = self
            .board
            .push(end, len, self.sent_us(), self.flow.delivered);
        self.mark_rate(i);
        let was_empty = self.flow.packets_out == 0;
        self.flow.snd_nxt = end;
        self.flow.packets_out += 1;
        if was_empty || self.is_armed_for(Purpose::LossProbe) {
            self.rearm_rto();
        }
        self.count_sent(u32::from(len));
        Segment {
            seq,
            len: u32::from(len),
            timestamps: self.timestamps(),
            ecn: self.codepoint(false),
            cwr: std::mem::take(&mut self.ecn.send_cwr),
            push: end == self.written,
            is_retransmission: false,
        }
    }

    /// Sends a segment of the queue once more.
    pub(super) fn resend_entry(
        &mut self,
        i: Index,
        cause: Cause,
        observer: &mut dyn Observer,
    ) -> Segment {
        let entry = *self.board.get(i);
        let (seq, len) = (entry.start(), u32::from(entry.len));
        self.before_data(len);
        self.board.resent(i, self.sent_us(), self.flow.delivered);
        self.mark_rate(i);
        self.count_sent(len);
        self.stats.retransmissions += 1;
        self.stats.retransmitted_bytes += u64::from(len);
        observer.event(self.now, Event::Retransmission { seq, len, cause });
        Segment {
            seq,
            len,
            timestamps: self.timestamps(),
            ecn: self.codepoint(true),
            cwr: false,
            push: entry.end == self.written,
            is_retransmission: true,
        }
    }

    fn before_data(&mut self, len: u32) {
        if self.flow.in_flight() == 0 {
            self.congestion.on_event(&mut self.flow, CwndEvent::TxStart);
        }
        self.flow.last_sent = self.flow.jiffies();
        self.pace(len);
    }

    /// When the segment leaves; a paced one by its schedule, which is never ahead of the clock here.
    fn sent_us(&self) -> u64 {
        self.flow.now_us
    }

    fn count_sent(&mut self, len: u32) {
        self.stats.segments_sent += 1;
        self.stats.bytes_sent += u64::from(len);
    }

    /// RFC 3168 forbids ECT on retransmissions; L4S does not.
    fn codepoint(&self, is_retransmission: bool) -> Ecn {
        match self.params.ecn {
            EcnMode::Off => Ecn::NotEct,
            _ if self.needs.l4s => Ecn::Ect1,
            _ if is_retransmission => Ecn::NotEct,
            _ => Ecn::Ect0,
        }
    }

    /// After the last segment that may be sent now.
    pub(super) fn end_burst(&mut self) {
        let is_full = self.flow.in_flight() >= self.flow.cwnd;
        let sent = std::mem::take(&mut self.burst);
        if sent > 0 || is_full {
            self.validate_window(is_full);
        }
        if sent > 0 {
            self.schedule_loss_probe(false);
        }
    }
}
