//! The one timer of retransmission: at any time it stands for one of four purposes.

use super::{Sender, time_of_us};
use crate::congestion::Flow;
use crate::event::Observer;
use crate::ticks::expiry_us;
use unbloat_units::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// RFC 6298.
    Retransmission,
    /// RFC 8985 section 6.2: wait for reordered segments.
    Reordering,
    /// RFC 8985 section 7.
    LossProbe,
    /// RFC 9293 section 3.8.6.1: probe a closed window.
    WindowProbe,
}

/// Most timers are set anew before anybody asks when they fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timer {
    pub purpose: Purpose,
    set_us: u64,
    after_us: u64,
}

impl Timer {
    fn at_us(self, hz: u32) -> u64 {
        expiry_us(self.set_us, self.after_us, hz)
    }
}

impl Sender {
    /// Sets the timer; a paced segment that could only leave later postpones it.
    #[inline]
    pub(super) fn arm(&mut self, purpose: Purpose, after_us: u64) {
        let wait = self.pacing_delay_us();
        self.timer = Some(Timer {
            purpose,
            set_us: self.flow.now_us,
            after_us: after_us.saturating_add(wait).min(u64::from(u32::MAX)),
        });
    }

    /// When the timer fires.
    pub(super) fn timer_at(&self) -> Option<Time> {
        Some(time_of_us(self.timer?.at_us(self.flow.hz)))
    }

    pub(super) fn is_armed_for(&self, purpose: Purpose) -> bool {
        self.timer.is_some_and(|timer| timer.purpose == purpose)
    }

    /// Restarts the timeout after progress (RFC 6298 section 5.3).
    pub(super) fn rearm_rto(&mut self) {
        if self.flow.packets_out == 0 {
            self.timer = None;
            return;
        }
        let mut rto = u64::from(self.rto.rto);
        if self.is_armed_for(Purpose::Reordering) || self.is_armed_for(Purpose::LossProbe) {
            rto = self.until_rto_us().max(1) as u64;
        }
        self.arm(Purpose::Retransmission, rto);
    }

    /// Time until the first segment has been out for as long as the timeout.
    pub(super) fn until_rto_us(&self) -> i64 {
        let Some(first) = self.board.first() else {
            return i64::from(self.rto.rto);
        };
        let due = self.board.get(first).sent_us + u64::from(self.rto.rto);
        due as i64 - self.flow.now_us as i64
    }

    /// After progress: a loss probe if one makes sense, else the timeout.
    pub(super) fn set_timer_after_ack(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_rto();
        }
    }

    /// Acts on the timer if it is due.
    pub(super) fn expire(&mut self, observer: &mut dyn Observer) {
        let Flow { now_us, hz, .. } = self.flow;
        let Some(timer) = self.timer.filter(|timer| timer.at_us(hz) <= now_us) else {
            return;
        };
        let before = (self.flow.cwnd, self.flow.ssthresh);
        match timer.purpose {
            Purpose::Reordering => self.on_reordering_timeout(observer),
            Purpose::LossProbe => self.send_loss_probe(observer),
            Purpose::Retransmission => {
                self.timer = None;
                self.on_retransmission_timeout(observer);
            }
            Purpose::WindowProbe => {
                self.timer = None;
                self.probe_window();
            }
        }
        self.report_window(before, observer);
    }
}
