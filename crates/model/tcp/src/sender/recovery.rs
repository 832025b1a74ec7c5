//! The state machine of loss recovery.
//!
//! # References
//! RFC 6675, RFC 8985, RFC 5682; Linux 6.12 `tcp_fastretrans_alert`, `tcp_enter_recovery`,
//! `tcp_enter_loss`, `tcp_process_loss`.

use super::ack::Seen;
use super::scoreboard::SACKED;
use super::timer::Purpose;
use super::{EcnMode, Resend, Sender};
use crate::congestion::{Congestion, CwndEvent, State};
use crate::event::{Cause, Event, Observer};
use unbloat_units::{Delta, Seq};

#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    /// The state ends when this is acknowledged.
    pub high_seq: u64,
    /// Where the reduction began, while it may be taken back.
    pub undo_marker: Option<u64>,
    /// Retransmissions that no D-SACK has answered; none while there was none.
    pub undo_retrans: Option<u32>,
    pub prior_ssthresh: Option<u32>,
    /// TSval of the first retransmission.
    pub first_resent: Option<Seq>,
    /// Timeouts in a row without progress.
    pub timeouts: u32,
    pub frto: bool,
    /// The receiver has dropped what it had selectively acknowledged.
    pub is_reneged: bool,
}

impl Sender {
    pub(super) fn queue_cwr(&mut self) {
        self.ecn.send_cwr = self.params.ecn == EcnMode::Classic;
    }

    fn begin_undo(&mut self) {
        self.recovery.undo_marker = Some(self.flow.snd_una);
        let probe = u32::from(self.tlp.high_seq.is_some() && self.tlp.is_retransmission);
        let out = self.flow.retrans_out + probe;
        self.recovery.undo_retrans = (out > 0).then_some(out);
    }

    pub(super) fn enter_recovery(&mut self, by_ece: bool, observer: &mut dyn Observer) {
        self.forget_first_resent();
        self.recovery.prior_ssthresh = None;
        self.begin_undo();
        if !self.flow.is_in_reduction() {
            if !by_ece {
                self.recovery.prior_ssthresh = Some(self.flow.current_ssthresh());
            }
            self.begin_reduction();
        }
        self.set_state(State::Recovery, observer);
    }

    /// Reduces for a report of congestion by ECN, once a round.
    pub(super) fn enter_cwr(&mut self, observer: &mut dyn Observer) {
        self.recovery.prior_ssthresh = None;
        if self.flow.state < State::Cwr {
            self.recovery.undo_marker = None;
            self.begin_reduction();
            self.set_state(State::Cwr, observer);
        }
    }

    pub(super) fn try_keep_open(&mut self, observer: &mut dyn Observer) {
        let left_out = self.flow.sacked_out + self.flow.lost_out;
        let state = if left_out > 0 || self.any_resent() {
            State::Disorder
        } else {
            State::Open
        };
        if self.flow.state != state {
            self.set_state(state, observer);
            self.recovery.high_seq = self.flow.snd_nxt;
        }
    }

    fn try_to_open(&mut self, seen: &Seen, observer: &mut dyn Observer) {
        self.forget_first_resent();
        if seen.ece {
            self.enter_cwr(observer);
        }
        if self.flow.state != State::Cwr {
            self.try_keep_open(observer);
        }
    }

    /// Acts on an acknowledgement that is a duplicate, brings news of loss, or comes in recovery.
    pub(super) fn alert(&mut self, prior_una: u64, seen: &mut Seen, observer: &mut dyn Observer) {
        if seen.ece {
            self.recovery.prior_ssthresh = None;
        }
        if self.wait_for_reneging(seen) {
            return;
        }
        self.leave_state(observer);
        let goes_on = match self.flow.state {
            State::Recovery => self.in_recovery(prior_una, seen, observer),
            State::Loss => self.in_loss(seen, observer) && self.otherwise(seen, observer),
            State::Open | State::Disorder | State::Cwr => self.otherwise(seen, observer),
        };
        if goes_on {
            self.resend = Resend::Lost;
        }
    }

    /// The first segment was selectively acknowledged before: maybe the receiver has dropped it.
    fn wait_for_reneging(&mut self, seen: &mut Seen) -> bool {
        let suspicious = seen.first_is_sacked && seen.una_advanced;
        if suspicious {
            let wait = u64::from(self.rto.srtt8 >> 4).max(10_000);
            self.arm(Purpose::Retransmission, wait.min(u64::from(self.rto.rto)));
            seen.set_timer = false;
        }
        suspicious
    }

    /// Ends a state whose segments are all acknowledged.
    fn leave_state(&mut self, observer: &mut dyn Observer) {
        if self.flow.state == State::Open {
            self.recovery.first_resent = None;
        } else if self.flow.snd_una >= self.recovery.high_seq {
            match self.flow.state {
                // CWR must reach the receiver, with something above.
                State::Cwr if self.flow.snd_una != self.recovery.high_seq => {
                    self.end_reduction();
                    self.set_state(State::Open, observer);
                }
                State::Recovery => {
                    self.finish_recovery(observer);
                    self.end_reduction();
                }
                _ => {}
            }
        }
    }

    fn in_recovery(
        &mut self,
        prior_una: u64,
        seen: &mut Seen,
        observer: &mut dyn Observer,
    ) -> bool {
        if seen.una_advanced && self.try_undo_partial(prior_una, observer) {
            return false;
        }
        if self.try_undo_by_dsack(observer) {
            self.try_to_open(seen, observer);
        }
        self.identify_loss(seen);
        if self.flow.state != State::Recovery {
            if self.flow.lost_out == 0 {
                return false;
            }
            self.enter_recovery(seen.ece, observer);
        }
        true
    }

    /// In the state after a timeout. True if the state has ended and others have their turn.
    fn in_loss(&mut self, seen: &mut Seen, observer: &mut dyn Observer) -> bool {
        self.process_loss(seen, observer);
        self.identify_loss(seen);
        self.flow.state == State::Open || seen.retransmission_lost
    }

    fn otherwise(&mut self, seen: &mut Seen, observer: &mut dyn Observer) -> bool {
        if self.flow.state <= State::Disorder {
            self.try_undo_by_dsack(observer);
        }
        self.identify_loss(seen);
        if self.flow.lost_out == 0 {
            self.try_to_open(seen, observer);
            return false;
        }
        self.enter_recovery(seen.ece, observer);
        true
    }

    /// F-RTO and slow-start retransmission after a timeout.
    fn process_loss(&mut self, seen: &mut Seen, observer: &mut dyn Observer) {
        let is_recovered = self.flow.snd_una >= self.recovery.high_seq;
        if seen.una_advanced && self.try_undo_timeout(false, observer) {
            return;
        }
        if self.recovery.frto {
            // RFC 5682 section 3.1, step 3 b: data that was sent once is acknowledged.
            if seen.original_acked && self.try_undo_timeout(true, observer) {
                return;
            }
            if self.flow.snd_nxt > self.recovery.high_seq {
                if seen.data_sacked || seen.is_duplicate {
                    self.recovery.frto = false;
                }
            } else if seen.una_advanced && !is_recovered {
                self.recovery.high_seq = self.flow.snd_nxt;
                if self.unsent() > 0 && self.window_end() > self.flow.snd_nxt {
                    self.resend = Resend::NewFirst;
                    return;
                }
                self.recovery.frto = false;
            }
        }
        if is_recovered {
            self.finish_recovery(observer);
        } else {
            self.resend = Resend::Lost;
        }
    }

    pub(super) fn on_retransmission_timeout(&mut self, observer: &mut dyn Observer) {
        let Some(first) = self.board.first() else {
            return;
        };
        self.stats.timeouts += 1;
        let rto = Delta::us(i64::from(self.rto.rto));
        observer.event(self.now, Event::Timeout { rto });
        self.enter_loss(observer);
        let segment = self.resend_entry(first, Cause::Timeout, observer);
        self.count_in_flight_copy(first);
        self.count_for_undo();
        self.staged = Some(segment);
        self.resend = Resend::Lost;
        self.recovery.timeouts += 1;
        self.rto.back_off();
        self.arm(Purpose::Retransmission, u64::from(self.rto.rto));
    }

    fn enter_loss(&mut self, observer: &mut dyn Observer) {
        let state = self.flow.state;
        self.mark_all_lost();
        let first_of_window = state <= State::Disorder
            || self.recovery.high_seq <= self.flow.snd_una
            || (state == State::Loss && self.recovery.timeouts == 0);
        if first_of_window {
            self.recovery.prior_ssthresh = Some(self.flow.current_ssthresh());
            self.flow.prior_cwnd = self.flow.cwnd;
            self.flow.ssthresh = self.congestion.ssthresh(&mut self.flow);
            self.congestion.on_event(&mut self.flow, CwndEvent::Loss);
            self.begin_undo();
        }
        self.flow.cwnd = self.flow.in_flight() + 1;
        self.flow.cwnd_cnt = 0;
        self.usage.stamp = self.flow.jiffies();
        if state <= State::Disorder && self.flow.sacked_out >= self.params.reordering {
            self.rack.reordering = self.rack.reordering.min(self.params.reordering);
        }
        self.set_state(State::Loss, observer);
        self.recovery.high_seq = self.flow.snd_nxt;
        self.tlp.high_seq = None;
        self.queue_cwr();
        let is_new = state < State::Recovery || self.recovery.timeouts > 0;
        self.recovery.frto = self.params.frto && is_new;
    }

    /// All but what was sent recently; SACKs are forgotten if the receiver has gone back on them.
    fn mark_all_lost(&mut self) {
        let Some(first) = self.board.first() else {
            return;
        };
        let is_reneged = self.board.get(first).has(SACKED);
        if is_reneged {
            self.flow.sacked_out = 0;
            self.recovery.is_reneged = true;
            self.sack_cache.clear();
        }
        for i in self.board.range() {
            if is_reneged {
                self.board.get_mut(i).flags &= !SACKED;
            } else if i != first && self.until_lost_us(self.board.get(i), 0) > 0 {
                continue;
            }
            self.mark_lost(i);
        }
    }
}
