//! Loss detection by time: a segment is lost if one sent sufficiently later was delivered.
//!
//! # References
//! RFC 8985 sections 6 and 8; Linux 6.12 `net/ipv4/tcp_recovery.c`.

use super::Sender;
use super::ack::Seen;
use super::scoreboard::{Entry, Index, LOST, RETRANS, SACKED};
use super::timer::Purpose;
use super::tlp::TIMEOUT_MIN_US;
use crate::congestion::State;
use crate::event::Observer;

/// Recoveries for which a widened reordering window is kept.
const RECOVERY_THRESHOLD: u8 = 16;

#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// Of the segment sent latest among those delivered: time, end, and the round trip it took.
    sent_us: u64,
    end: u64,
    rtt_us: u32,
    /// A delivery has moved these on.
    pub advanced: bool,
    /// Duplicate ACKs before loss is assumed.
    pub reordering: u32,
    pub reordering_seen: bool,
    pub dsack_seen: bool,
    /// The reordering window in quarters of the least round-trip time.
    window_steps: u8,
    /// Recoveries until it is narrowed again.
    persist: u8,
    /// Deliveries when it was last widened.
    last_delivered: u32,
}

impl Rack {
    pub(super) fn new(reordering: u32) -> Rack {
        Rack {
            sent_us: 0,
            end: 0,
            rtt_us: 0,
            advanced: false,
            reordering,
            reordering_seen: false,
            dsack_seen: false,
            window_steps: 1,
            persist: 0,
            last_delivered: 0,
        }
    }

    pub(super) fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    pub(super) fn keep_window_longer(&mut self) {
        self.persist = (self.persist + 1).min(RECOVERY_THRESHOLD);
    }
}

impl Sender {
    /// Takes in the delivery of a segment (RFC 8985 section 6.2, step 2).
    pub(super) fn advance_rack(&mut self, entry: &Entry) {
        let rtt_us = (self.flow.now_us - entry.sent_us) as u32;
        // Faster than any round trip: it was the earlier copy that arrived.
        if rtt_us < self.flow.min_rtt_us && entry.was_retransmitted() {
            return;
        }
        let rack = &mut self.rack;
        rack.advanced = true;
        rack.rtt_us = rtt_us;
        if (entry.sent_us, entry.end) > (rack.sent_us, rack.end) {
            rack.sent_us = entry.sent_us;
            rack.end = entry.end;
        }
    }

    /// How long a segment may be overtaken, in microseconds.
    fn reordering_window(&self) -> u32 {
        if !self.rack.reordering_seen {
            let is_recovering = self.flow.state >= State::Recovery;
            if is_recovering || self.flow.sacked_out >= self.rack.reordering {
                return 0;
            }
        }
        let steps = u32::from(self.rack.window_steps);
        (self.flow.min_rtt_us >> 2)
            .saturating_mul(steps)
            .min(self.rto.srtt8 >> 3)
    }

    /// Time until a segment counts as lost; none left if it does.
    pub(super) fn until_lost_us(&self, entry: &Entry, reordering_window: u32) -> i64 {
        let age = self.flow.now_us - entry.sent_us;
        i64::from(self.rack.rtt_us) + i64::from(reordering_window) - age as i64
    }

    /// Marks overtaken segments as lost; returns the longest wait for others.
    fn detect_loss(&mut self) -> u64 {
        let window = self.reordering_window();
        let latest = (self.rack.sent_us, self.rack.end);
        let mut wait = 0;
        let mut next = self.board.oldest_sent();
        while let Some(i) = next {
            next = self.board.sent_after(i);
            let entry = *self.board.get(i);
            if entry.has(LOST) && !entry.has(RETRANS) {
                continue;
            }
            if (entry.sent_us, entry.end) >= latest {
                break;
            }
            match self.until_lost_us(&entry, window) {
                left @ 1.. => wait = wait.max(left as u64),
                _ => {
                    self.mark_lost(i);
                    self.board.unlist(i);
                }
            }
        }
        wait
    }

    /// Marks a segment as lost, or its retransmission as lost again.
    pub(super) fn mark_lost(&mut self, i: Index) {
        let entry = self.board.get_mut(i);
        if entry.has(SACKED) {
            return;
        }
        if !entry.has(LOST) {
            entry.flags |= LOST;
            self.flow.lost_out += 1;
            self.flow.lost += 1;
            if !self.board.get(i).has(RETRANS) {
                self.board.set_waiting(i, true);
            }
        } else if entry.has(RETRANS) {
            entry.flags &= !RETRANS;
            self.flow.retrans_out -= 1;
            self.flow.lost += 1;
            self.board.set_waiting(i, true);
        }
    }

    /// After an acknowledgement: looks for losses, or sets the timer to look later.
    pub(super) fn identify_loss(&mut self, seen: &mut Seen) {
        if self.flow.packets_out == 0 || !self.rack.advanced {
            return;
        }
        self.rack.advanced = false;
        let prior_retrans = self.flow.retrans_out;
        let wait = self.detect_loss();
        if wait > 0 {
            let after = (wait + u64::from(TIMEOUT_MIN_US)).min(u64::from(self.rto.rto));
            self.arm(Purpose::Reordering, after);
            seen.set_timer = false;
        }
        if prior_retrans > self.flow.retrans_out {
            seen.retransmission_lost = true;
        }
    }

    /// Overtaken segments have had their time.
    pub(super) fn on_reordering_timeout(&mut self, observer: &mut dyn Observer) {
        let prior_in_flight = self.flow.in_flight();
        let prior_lost = self.flow.lost;
        self.detect_loss();
        if self.flow.in_flight() != prior_in_flight {
            if self.flow.state != State::Recovery {
                self.enter_recovery(false, observer);
                if !self.needs.full_control {
                    self.reduce(1, self.flow.lost - prior_lost, false);
                }
            }
            self.resend = super::Resend::Lost;
        }
        if !self.is_armed_for(Purpose::Retransmission) {
            self.rearm_rto();
        }
    }

    /// Widens the reordering window when D-SACKs show that it was too narrow, once a round.
    pub(super) fn adapt_reordering_window(&mut self) {
        let prior_delivered = self.rate.prior_delivered();
        if prior_delivered == 0 {
            return;
        }
        let rack = &mut self.rack;
        if prior_delivered < rack.last_delivered {
            rack.dsack_seen = false;
        }
        if rack.dsack_seen {
            rack.dsack_seen = false;
            rack.window_steps = rack.window_steps.saturating_add(1);
            rack.last_delivered = self.flow.delivered;
            rack.persist = RECOVERY_THRESHOLD;
        } else if rack.persist == 0 {
            rack.window_steps = 1;
        }
    }
}
