//! Taking in an acknowledgement.
//!
//! # References
//! Linux 6.12 `tcp_ack`, `tcp_clean_rtx_queue`, `tcp_ack_update_rtt`, `tcp_disordered_ack`; RFC 7323 sections 4 (round-trip
//! time by timestamps, used only where data was sent again) and 5 (PAWS).

use super::scoreboard::{Entry, Index, LOST, RETRANS, SACKED};
use super::{EcnMode, Resend, Sender};
use crate::congestion::{AckKind, AckSample, Congestion, State};
use crate::event::{Event, Observer};
use crate::segment::{Ack, Timestamps};
use unbloat_units::Delta;

/// What one acknowledgement has brought.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub una_advanced: bool,
    pub data_acked: bool,
    pub retransmission_acked: bool,
    /// Data from before recovery that was sent once.
    pub original_acked: bool,
    pub data_sacked: bool,
    pub window_updated: bool,
    pub ece: bool,
    pub dsack: bool,
    pub dsack_of_probe: bool,
    /// Nothing new, and so a sign of a segment out of order.
    pub is_duplicate: bool,
    pub retransmission_lost: bool,
    pub set_timer: bool,
    pub maybe_delayed: bool,
    /// The segment at the front is marked as arrived.
    pub first_is_sacked: bool,
    pub first_sacked_us: Option<u64>,
    pub last_sacked_us: u64,
    /// Lowest segment that arrived late without being sent again.
    pub reordered_from: u64,
    pub sack_delivered: u32,
}

impl Seen {
    pub(super) fn is_not_duplicate(&self) -> bool {
        self.window_updated || self.data_acked
    }

    fn is_alarming(&self) -> bool {
        self.data_sacked || self.ece || self.dsack
    }
}

/// Segments that one acknowledgement took off the queue.
#[derive(Clone, Copy, Debug, Default)]
struct Acked {
    segments: u32,
    /// Times of those that were sent once and not selectively acknowledged before.
    first_sent: Option<u64>,
    last_sent: u64,
    /// The lowest of them.
    reordered_from: u64,
}

/// Round-trip times that one acknowledgement gives, microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Rtts {
    /// Of the first segment that was cumulatively acknowledged.
    first: Option<u32>,
    sacked: Option<u32>,
    /// Of the last segment, for congestion control.
    last: Option<u32>,
}

impl Sender {
    pub fn on_ack(&mut self, now: unbloat_units::Time, ack: &Ack, observer: &mut dyn Observer) {
        self.enter(now);
        self.end_burst();
        self.stats.acks_received += 1;
        if ack.ack > self.flow.snd_nxt || self.is_out_of_date(ack) {
            return;
        }
        let before = (self.flow.cwnd, self.flow.ssthresh);
        self.take_timestamps(ack);
        self.resend = Resend::Nothing;
        if ack.ack < self.flow.snd_una {
            self.take_old_ack(ack, observer);
        } else {
            self.take_ack(ack, observer);
        }
        self.report_window(before, observer);
    }

    /// One that a later one has overtaken (PAWS). Duplicates, which bring SACK blocks, may be older by a timeout.
    fn is_out_of_date(&self, ack: &Ack) -> bool {
        let Some(own) = ack.timestamps.filter(|_| self.params.timestamps) else {
            return false;
        };
        let age_us = i64::from(self.peer_clock.since(own.value)) * 1_000;
        let is_duplicate = ack.ack == self.flow.snd_una
            && (1..=self.peer_window).contains(&ack.window)
            && age_us <= i64::from(self.rto.rto) * 6 / 5;
        own.is_out_of_date(self.peer_clock) && !is_duplicate
    }

    fn take_timestamps(&mut self, ack: &Ack) {
        if let Some(timestamps) = ack.timestamps.filter(|_| self.params.timestamps) {
            self.peer_clock = self.peer_clock.later(timestamps.value);
            self.echo = Some(timestamps.echo);
        }
    }

    /// One that was overtaken: only what it says of duplicates and holes is of use.
    fn take_old_ack(&mut self, ack: &Ack, observer: &mut dyn Observer) {
        if ack.sack.is_empty() {
            return;
        }
        let prior_una = self.flow.snd_una;
        let mut seen = Seen {
            reordered_from: self.flow.snd_nxt,
            ..Seen::default()
        };
        self.rate.begin(self.flow.in_flight());
        self.take_sacks(ack, prior_una, &mut seen);
        self.alert(prior_una, &mut seen, observer);
    }

    fn take_ack(&mut self, ack: &Ack, observer: &mut dyn Observer) {
        let prior_una = self.flow.snd_una;
        let prior_highest = self.highest_sacked();
        let prior_packets = self.flow.packets_out;
        let (prior_delivered, prior_lost) = (self.flow.delivered, self.flow.lost);
        let mut seen = Seen {
            reordered_from: self.flow.snd_nxt,
            ..Seen::default()
        };
        self.rate.begin(self.flow.in_flight());
        if ack.ack > prior_una {
            seen.una_advanced = true;
            self.recovery.timeouts = 0;
        }
        let window_changed = ack.window != self.peer_window;
        seen.window_updated = self.update_peer_window(ack.ack, ack.window);
        self.stats.bytes_acked += ack.ack - prior_una;
        self.flow.snd_una = ack.ack;
        let ce = self.take_ecn(ack, &mut seen);
        if !ack.sack.is_empty() {
            self.take_sacks(ack, prior_una, &mut seen);
        }
        self.deliver(seen.sack_delivered, &seen);
        let kind = AckKind {
            slow_path: window_changed || !ack.sack.is_empty() || seen.ece || !seen.una_advanced,
            ece: seen.ece,
        };
        if prior_packets == 0 {
            self.congestion.on_ack(&mut self.flow, kind);
            self.take_idle_ack(ack.ack, &mut seen, observer);
            return;
        }
        let rtt = self.clean_queue(prior_highest, prior_una, &mut seen, observer);
        self.flow.delivered_ce += ce;
        self.adapt_reordering_window();
        self.congestion.on_ack(&mut self.flow, kind);
        self.end_loss_probe(ack.ack, &seen, observer);
        let is_dubious =
            !seen.is_not_duplicate() || seen.is_alarming() || self.flow.state != State::Open;
        if is_dubious {
            seen.is_duplicate = !seen.una_advanced && !seen.is_not_duplicate() && !seen.dsack;
            self.alert(prior_una, &mut seen, observer);
        }
        if seen.set_timer {
            self.set_timer_after_ack();
        }
        let delivered = self.flow.delivered - prior_delivered;
        let lost = self.flow.lost - prior_lost;
        self.finish_rate(delivered, lost, rtt, &seen);
        if !self.needs.full_control {
            self.adjust_window(delivered, lost, &seen);
        }
    }

    /// With nothing in flight: an answer to a probe, or late evidence.
    fn take_idle_ack(&mut self, ack: u64, seen: &mut Seen, observer: &mut dyn Observer) {
        if seen.dsack {
            self.alert(self.flow.snd_una, seen, observer);
        }
        self.answer_to_window_probe();
        self.end_loss_probe(ack, seen, observer);
    }

    /// Counts deliveries; those that come with an echo of CE apart.
    fn deliver(&mut self, segments: u32, seen: &Seen) {
        self.flow.delivered += segments;
        if seen.ece && self.params.ecn == EcnMode::Classic {
            self.flow.delivered_ce += segments;
        }
    }

    /// Whether congestion was reported, and how many packets the exact count has grown by.
    fn take_ecn(&mut self, ack: &Ack, seen: &mut Seen) -> u32 {
        match self.params.ecn {
            EcnMode::Off => 0,
            EcnMode::Classic => {
                seen.ece = ack.ece;
                0
            }
            EcnMode::Accurate => {
                let count = ack.ce.map_or(0, |ce| ce.packets).max(self.ecn.ce_packets);
                let new = count - self.ecn.ce_packets;
                self.ecn.ce_packets = count;
                seen.ece = new > 0;
                new
            }
        }
    }

    fn adjust_window(&mut self, delivered: u32, lost: u32, seen: &Seen) {
        if self.flow.is_in_reduction() {
            self.reduce(delivered, lost, seen.una_advanced);
        } else if self.may_grow(seen) {
            self.congestion.avoid(&mut self.flow, delivered);
            self.usage.stamp = self.flow.jiffies();
        }
        self.update_pacing_rate();
    }

    /// Growth goes with data in order; with any delivery where reordering is common.
    fn may_grow(&self, seen: &Seen) -> bool {
        seen.data_acked || (self.rack.reordering > self.params.reordering && seen.data_sacked)
    }

    /// Takes acknowledged segments off the queue. Returns the round-trip time of the last one.
    fn clean_queue(
        &mut self,
        prior_highest: u64,
        prior_una: u64,
        seen: &mut Seen,
        observer: &mut dyn Observer,
    ) -> Option<u32> {
        let prior_sacked = self.flow.sacked_out;
        let acked = self.pop_acked(seen);
        // A lone short segment, alone in its round: most likely answered by a timer.
        seen.maybe_delayed = acked.first_sent.is_some()
            && !seen.retransmission_acked
            && acked.segments == 1
            && prior_sacked == 0
            && self.flow.snd_una - prior_una < u64::from(self.params.mss)
            && self.rate.prior_delivered() + 1 == self.flow.delivered
            && !seen.is_alarming();
        let rtts = self.measure(&acked, seen);
        let (updated, rtt) = self.take_rtts(rtts, seen, observer);
        if seen.data_acked {
            seen.set_timer = true;
            if acked.reordered_from < prior_highest {
                self.note_reordering(acked.reordered_from);
            }
        } else if let (true, Some(sacked), Some(i)) = (updated, rtts.sacked, self.board.first()) {
            // Data sent after the first segment has arrived: the timeout need not run on.
            seen.set_timer |= sacked > self.since(self.board.get(i).sent_us);
        }
        let sample = AckSample {
            segments: acked.segments,
            rtt_us: rtt,
        };
        self.congestion.acked(&mut self.flow, &sample);
        rtt
    }

    fn pop_acked(&mut self, seen: &mut Seen) -> Acked {
        let una = self.flow.snd_una;
        let mut acked = Acked {
            reordered_from: self.flow.snd_nxt,
            ..Acked::default()
        };
        while let Some(i) = self.board.first() {
            let entry = self.board.get(i);
            if entry.end > una {
                seen.first_is_sacked = entry.has(SACKED);
                if entry.start() < una {
                    self.board.get_mut(i).len = (entry.end - una) as u16;
                }
                break;
            }
            self.take_acked(i, seen, &mut acked);
        }
        acked
    }

    /// Takes the first segment off. There are few at a time: in line, the loop would keep more at hand than it saves.
    #[inline(never)]
    fn take_acked(&mut self, i: Index, seen: &mut Seen, acked: &mut Acked) {
        let entry = *self.board.get(i);
        self.count_acked(i, &entry, seen, acked);
        self.board.pop();
    }

    #[inline]
    fn count_acked(&mut self, i: Index, entry: &Entry, seen: &mut Seen, acked: &mut Acked) {
        if entry.was_retransmitted() {
            self.flow.retrans_out -= u32::from(entry.has(RETRANS));
            seen.retransmission_acked = true;
        } else if !entry.has(SACKED) {
            acked.first_sent.get_or_insert(entry.sent_us);
            acked.last_sent = entry.sent_us;
            acked.reordered_from = acked.reordered_from.min(entry.start());
            seen.original_acked |= entry.end <= self.recovery.high_seq;
        }
        if entry.has(SACKED) {
            self.flow.sacked_out -= 1;
        } else {
            self.deliver(1, seen);
            if !self.is_spurious(entry) {
                self.advance_rack(entry);
            }
            self.sample_rate(i);
        }
        self.flow.lost_out -= u32::from(entry.has(LOST));
        self.flow.packets_out -= 1;
        acked.segments += 1;
        seen.data_acked = true;
    }

    fn since(&self, sent_us: u64) -> u32 {
        (self.flow.now_us - sent_us) as u32
    }

    /// Karn's rule: none from segments that were sent again.
    fn measure(&self, acked: &Acked, seen: &Seen) -> Rtts {
        let mut rtts = Rtts::default();
        if let Some(first) = acked.first_sent.filter(|_| !seen.retransmission_acked) {
            rtts.first = Some(self.since(first));
            rtts.last = Some(self.since(acked.last_sent));
        }
        if let Some(first) = seen.first_sacked_us {
            rtts.sacked = Some(self.since(first));
            rtts.last = Some(self.since(seen.last_sacked_us));
        }
        rtts
    }

    /// Chooses among samples; returns whether one was taken, and the one for congestion control.
    fn take_rtts(
        &mut self,
        rtts: Rtts,
        seen: &Seen,
        observer: &mut dyn Observer,
    ) -> (bool, Option<u32>) {
        let sacked = rtts.sacked.filter(|_| self.params.rtt_from_sacks);
        let (mut sample, mut last) = (rtts.first.or(sacked), rtts.last);
        if sample.is_none() && seen.data_acked {
            sample = self.rtt_by_echo();
            last = sample.or(last);
        }
        let Some(rtt_us) = sample else {
            return (false, last);
        };
        self.take_rtt(rtt_us, last.unwrap_or(rtt_us), seen.maybe_delayed);
        let us = |us: u32| Delta::us(i64::from(us));
        let event = Event::Rtt {
            sample: us(rtt_us),
            smoothed: us(self.flow.srtt_us8 >> 3),
        };
        observer.event(self.now, event);
        (true, last)
    }

    /// By timestamps, in whole milliseconds, at least one.
    fn rtt_by_echo(&self) -> Option<u32> {
        let echo = self.echo?;
        let ms = Timestamps::clock(self.now).since(echo);
        u32::try_from(ms).ok().map(|ms| ms.max(1) * 1_000)
    }

    #[inline(always)]
    pub(super) fn take_rtt(&mut self, rtt_us: u32, last_us: u32, maybe_delayed: bool) {
        if !(maybe_delayed && last_us > self.flow.min_rtt_us) {
            let window = MIN_RTT_SECONDS * self.flow.hz;
            let jiffies = self.flow.jiffies();
            self.flow.min_rtt_us = self.min_rtt.running_min(window, jiffies, last_us.max(1));
        }
        self.rto
            .sample(rtt_us, self.flow.snd_una, self.flow.snd_nxt);
        self.flow.srtt_us8 = self.rto.srtt8;
        self.flow.rtt_us = rtt_us;
    }
}

/// How long a least round-trip time is remembered.
const MIN_RTT_SECONDS: u32 = 300;
