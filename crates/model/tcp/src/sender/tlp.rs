//! Tail loss probes: when the last segments are lost, no later delivery tells of it.
//!
//! # References
//! RFC 8985 section 7; Linux 6.12 `tcp_schedule_loss_probe`, `tcp_send_loss_probe`,
//! `tcp_process_tlp_ack`.

use super::Sender;
use super::ack::Seen;
use super::timer::Purpose;
use crate::congestion::State;
use crate::event::{Cause, Event, Observer};

/// Least time of a probe beyond two round-trip times, microseconds.
pub(super) const TIMEOUT_MIN_US: u32 = 2_000;

#[derive(Clone, Debug, Default)]
pub(super) struct Tlp {
    /// A probe is out; what was sent by then.
    pub high_seq: Option<u64>,
    /// The probe carried the last segment again.
    pub is_retransmission: bool,
}

impl Sender {
    /// Sets the timer for a probe if one makes sense: nothing is known to be lost.
    pub(super) fn schedule_loss_probe(&mut self, rto_restarts: bool) -> bool {
        let calm = matches!(self.flow.state, State::Open | State::Cwr);
        if !self.params.loss_probe || self.flow.packets_out == 0 || !calm {
            return false;
        }
        let timeout = match self.rto.srtt8 {
            0 => self.params.rto.initial.as_us(),
            // A lone segment may meet a delayed ACK.
            srtt8 if self.flow.packets_out == 1 => {
                i64::from(srtt8 >> 2) + i64::from(self.rto.floor())
            }
            srtt8 => i64::from(srtt8 >> 2) + i64::from(TIMEOUT_MIN_US),
        };
        let rto = if rto_restarts {
            i64::from(self.rto.rto)
        } else {
            self.until_rto_us()
        };
        let timeout = if rto > 0 { timeout.min(rto) } else { timeout };
        self.arm(Purpose::LossProbe, timeout as u64);
        true
    }

    /// Sends new data beyond the window, or the last segment again.
    pub(super) fn send_loss_probe(&mut self, observer: &mut dyn Observer) {
        if self.tlp.high_seq.is_none() && self.stage_probe(observer) {
            self.tlp.high_seq = Some(self.flow.snd_nxt);
            self.stats.loss_probes += 1;
            let with_new_data = !self.tlp.is_retransmission;
            observer.event(self.now, Event::LossProbe { with_new_data });
            // The timeout starts anew.
            self.timer = None;
        }
        self.rearm_rto();
    }

    fn stage_probe(&mut self, observer: &mut dyn Observer) -> bool {
        self.tlp.is_retransmission = false;
        if self.unsent() > 0 && self.fits_peer_window() {
            if self.is_held_by_pacing() {
                return false;
            }
            self.staged = Some(self.send_new());
            return true;
        }
        let Some(last) = self.board.last() else {
            return false;
        };
        self.staged = Some(self.resend_entry(last, Cause::Probe, observer));
        self.tlp.is_retransmission = true;
        true
    }

    /// Ends the episode when the probe is answered; a repaired loss reduces the window.
    #[inline]
    pub(super) fn end_loss_probe(&mut self, ack: u64, seen: &Seen, observer: &mut dyn Observer) {
        if let Some(high_seq) = self.tlp.high_seq.filter(|&high_seq| ack >= high_seq) {
            self.take_answer_to_probe(high_seq, ack, seen, observer);
        }
    }

    #[inline(never)]
    fn take_answer_to_probe(
        &mut self,
        high_seq: u64,
        ack: u64,
        seen: &Seen,
        observer: &mut dyn Observer,
    ) {
        if !self.tlp.is_retransmission || seen.dsack_of_probe {
            self.tlp.high_seq = None;
        } else if ack > high_seq {
            self.begin_reduction();
            self.set_state(State::Cwr, observer);
            self.end_reduction();
            self.try_keep_open(observer);
        } else if !seen.una_advanced && !seen.is_not_duplicate() && !seen.data_sacked {
            self.tlp.high_seq = None;
        }
    }
}
