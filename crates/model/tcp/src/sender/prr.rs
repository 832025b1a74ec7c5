//! Proportional rate reduction: how much may be sent while the window is being reduced.
//!
//! # References
//! RFC 9937 (and RFC 6937); Linux 6.12 `tcp_cwnd_reduction`, `tcp_end_cwnd_reduction`.

use super::Sender;
use crate::congestion::{Congestion, CwndEvent, INFINITE_SSTHRESH, State};

#[derive(Clone, Debug, Default)]
pub(super) struct Prr {
    /// Delivered and sent since the reduction began.
    delivered: u32,
    pub out: u32,
}

impl Sender {
    pub(super) fn begin_reduction(&mut self) {
        self.recovery.high_seq = self.flow.snd_nxt;
        self.tlp.high_seq = None;
        self.flow.cwnd_cnt = 0;
        self.flow.prior_cwnd = self.flow.cwnd;
        self.prr = Prr::default();
        self.flow.ssthresh = self.congestion.ssthresh(&mut self.flow);
        self.queue_cwr();
    }

    /// Sets the window so that sending follows delivery, in proportion to the reduction.
    pub(super) fn reduce(&mut self, delivered: u32, lost: u32, una_advanced: bool) {
        let flow = &mut self.flow;
        if delivered == 0 || flow.prior_cwnd == 0 {
            return;
        }
        self.prr.delivered += delivered;
        let in_flight = flow.in_flight();
        let (ssthresh, out) = (i64::from(flow.ssthresh), i64::from(self.prr.out));
        let prr_delivered = i64::from(self.prr.delivered);
        let room = ssthresh - i64::from(in_flight);
        let send = if room < 0 {
            let prior = i64::from(flow.prior_cwnd);
            (ssthresh * prr_delivered + prior - 1) / prior - out
        } else {
            let conserved = (prr_delivered - out).max(i64::from(delivered));
            let slow_start = i64::from(una_advanced && lost == 0);
            (conserved + slow_start).min(room)
        };
        // The first retransmission always leaves.
        let send = send.max(i64::from(self.prr.out == 0));
        flow.cwnd = (i64::from(in_flight) + send) as u32;
    }

    pub(super) fn end_reduction(&mut self) {
        if self.needs.full_control {
            return;
        }
        let confirmed = self.flow.state == State::Cwr || self.recovery.undo_marker.is_some();
        if self.flow.ssthresh < INFINITE_SSTHRESH && confirmed {
            self.flow.cwnd = self.flow.ssthresh;
            self.usage.stamp = self.flow.jiffies();
        }
        self.congestion
            .on_event(&mut self.flow, CwndEvent::CompleteCwr);
    }
}
