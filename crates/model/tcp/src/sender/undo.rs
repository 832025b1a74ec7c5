//! Taking back a reduction that was not needed.
//!
//! # References
//! RFC 3522 (Eifel by timestamps), RFC 3708 (D-SACK), RFC 5682 (F-RTO); Linux 6.12 `tcp_may_undo`
//! and the `tcp_try_undo_*` functions.

use super::Sender;
use super::scoreboard::{LOST, RETRANS};
use crate::congestion::{Congestion, State};
use crate::event::{Event, Evidence, Observer};
use unbloat_units::Seq;

impl Sender {
    /// The last echo is of a segment sent before `when`.
    fn echo_is_before(&self, when: Seq) -> bool {
        self.echo.is_some_and(|echo| echo.before(when))
    }

    /// What was acknowledged had been sent before the first retransmission.
    pub(super) fn was_only_late(&self) -> bool {
        self.recovery
            .first_resent
            .is_none_or(|when| self.echo_is_before(when))
    }

    /// A copy arrived that was sent before the last one.
    pub(super) fn is_spurious(&self, entry: &super::scoreboard::Entry) -> bool {
        entry.was_retransmitted() && self.echo_is_before(Seq::new((entry.sent_us / 1_000) as u32))
    }

    /// What shows that the reduction was not needed, if anything does.
    fn evidence(&self) -> Option<Evidence> {
        self.recovery.undo_marker?;
        if self.recovery.undo_retrans == Some(0) {
            Some(Evidence::DuplicateSack)
        } else {
            self.was_only_late().then_some(Evidence::Timestamp)
        }
    }

    pub(super) fn any_resent(&self) -> bool {
        let first = self.board.first();
        self.flow.retrans_out > 0 || first.is_some_and(|i| self.board.get(i).was_retransmitted())
    }

    pub(super) fn undo_reduction(
        &mut self,
        evidence: Evidence,
        unmark_lost: bool,
        observer: &mut dyn Observer,
    ) {
        if unmark_lost {
            for i in self.board.range() {
                self.board.get_mut(i).flags &= !LOST;
                self.board.set_waiting(i, false);
            }
            self.flow.lost_out = 0;
        }
        if let Some(prior) = self.recovery.prior_ssthresh {
            self.flow.cwnd = self.congestion.undo(&mut self.flow);
            if prior > self.flow.ssthresh {
                self.flow.ssthresh = prior;
                self.ecn.send_cwr = false;
            }
        }
        self.usage.stamp = self.flow.jiffies();
        self.recovery.undo_marker = None;
        self.rack.advanced = true;
        self.stats.undone += 1;
        observer.event(self.now, Event::Undone { evidence });
    }

    /// All that was outstanding is acknowledged: recovery ends, maybe as if it had not been.
    pub(super) fn finish_recovery(&mut self, observer: &mut dyn Observer) {
        match self.evidence() {
            Some(evidence) => self.undo_reduction(evidence, false, observer),
            None => self.rack.recovered(),
        }
        self.set_state(State::Open, observer);
        self.recovery.is_reneged = false;
    }

    /// D-SACKs for all retransmissions.
    pub(super) fn try_undo_by_dsack(&mut self, observer: &mut dyn Observer) -> bool {
        let all = self.recovery.undo_marker.is_some() && self.recovery.undo_retrans == Some(0);
        if all {
            self.rack.keep_window_longer();
            self.undo_reduction(Evidence::DuplicateSack, false, observer);
        }
        all
    }

    /// After a timeout, on partial progress.
    pub(super) fn try_undo_timeout(&mut self, by_frto: bool, observer: &mut dyn Observer) -> bool {
        let evidence = if by_frto {
            Some(Evidence::Frto)
        } else {
            self.evidence()
        };
        let Some(evidence) = evidence else {
            return false;
        };
        self.undo_reduction(evidence, true, observer);
        if by_frto {
            self.stats.spurious_timeouts += 1;
        }
        self.recovery.timeouts = 0;
        self.set_state(State::Open, observer);
        self.recovery.is_reneged = false;
        true
    }

    /// In fast recovery, on partial progress. True if nothing else is to be done.
    pub(super) fn try_undo_partial(&mut self, prior_una: u64, observer: &mut dyn Observer) -> bool {
        if self.recovery.undo_marker.is_none() || !self.was_only_late() {
            return false;
        }
        self.note_reordering(prior_una);
        if self.flow.retrans_out > 0 {
            return true;
        }
        self.forget_first_resent();
        self.undo_reduction(Evidence::Timestamp, true, observer);
        self.try_keep_open(observer);
        false
    }

    pub(super) fn forget_first_resent(&mut self) {
        if !self.any_resent() {
            self.recovery.first_resent = None;
        }
    }

    /// Notes a retransmission, whose D-SACK may show that it was not needed.
    pub(super) fn count_for_undo(&mut self) {
        let resent = Seq::new((self.flow.now_us / 1_000) as u32);
        self.recovery.first_resent.get_or_insert(resent);
        let count = self.recovery.undo_retrans.unwrap_or(0);
        self.recovery.undo_retrans = Some(count + 1);
    }

    /// A copy is in flight besides the original.
    pub(super) fn count_in_flight_copy(&mut self, i: super::scoreboard::Index) {
        self.board.get_mut(i).flags |= RETRANS;
        self.flow.retrans_out += 1;
    }
}
