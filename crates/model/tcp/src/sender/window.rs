//! How much of the windows is used: the receiver's, which limits, and our own, which must be earned.
//!
//! # References
//! RFC 9293 sections 3.8.6.1 (window probes) and 3.8.6.2.1 (sender's silly-window avoidance: a full
//! segment or nothing); RFC 2861 and Linux 6.12 `tcp_cwnd_validate`, `tcp_cwnd_restart`,
//! `tcp_send_probe0`.

use super::Sender;
use super::timer::Purpose;
use crate::congestion::{Congestion, CwndEvent, State};
use crate::segment::Segment;

/// How far the congestion window was used.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    /// The round of `is_cwnd_limited` ends when this is acknowledged.
    round: u64,
    /// Most segments in flight since `stamp`.
    used: u32,
    /// Coarse time when the window was last full or changed.
    pub stamp: u32,
}

impl Usage {
    pub(super) fn new(stamp: u32) -> Usage {
        Usage {
            round: 0,
            used: 0,
            stamp,
        }
    }
}

impl Sender {
    /// First byte that the receiver would not take.
    #[inline]
    pub(super) fn window_end(&self) -> u64 {
        self.flow.snd_una + u64::from(self.peer_window)
    }

    /// Whether the next new segment fits the receiver's window as a whole.
    #[inline]
    pub(super) fn fits_peer_window(&self) -> bool {
        let len = self.unsent().min(u64::from(self.params.mss));
        self.flow.snd_nxt + len <= self.window_end()
    }

    /// Takes in an offered window; an old acknowledgement cannot make it smaller.
    pub(super) fn update_peer_window(&mut self, ack: u64, window: u32) -> bool {
        let is_news = ack > self.flow.snd_una || window > self.peer_window || window == 0;
        if is_news && self.peer_window != window {
            self.peer_window = window;
            self.max_peer_window = self.max_peer_window.max(window);
            if self.unsent() > 0 {
                self.restart_after_idle();
            }
        }
        is_news
    }

    fn jiffies_of_rto(&self) -> u32 {
        (u64::from(self.rto.rto) * u64::from(self.flow.hz)).div_ceil(1_000_000) as u32
    }

    /// Halves the window for every timeout that passed idle, down to the initial one.
    pub(super) fn restart_after_idle(&mut self) {
        if !self.params.slow_start_after_idle
            || self.flow.packets_out > 0
            || self.needs.full_control
            || self.stats.segments_sent == 0
        {
            return;
        }
        let rto = self.jiffies_of_rto();
        let mut idle = i64::from(self.flow.jiffies().wrapping_sub(self.flow.last_sent));
        if idle <= i64::from(rto) {
            return;
        }
        self.congestion
            .on_event(&mut self.flow, CwndEvent::CwndRestart);
        self.flow.ssthresh = self.flow.current_ssthresh();
        let floor = self.params.initial_window.min(self.flow.cwnd);
        let mut cwnd = self.flow.cwnd;
        loop {
            idle -= i64::from(rto);
            if idle <= 0 || cwnd <= floor {
                break;
            }
            cwnd >>= 1;
        }
        self.flow.cwnd = cwnd.max(floor);
        self.usage.stamp = self.flow.jiffies();
        self.usage.used = 0;
    }

    /// After a burst: notes whether the window was full.
    pub(super) fn validate_window(&mut self, is_full: bool) {
        let flow = &mut self.flow;
        let is_new_round = flow.snd_una >= self.usage.round;
        let is_record = !flow.is_cwnd_limited && flow.packets_out > flow.max_packets_out;
        if is_new_round || is_full || is_record {
            flow.is_cwnd_limited = is_full;
            flow.max_packets_out = flow.packets_out;
            self.usage.round = flow.snd_nxt;
        }
        if self.flow.is_limited_by_cwnd() {
            self.usage.used = 0;
            self.usage.stamp = self.flow.jiffies();
            return;
        }
        self.usage.used = self.usage.used.max(self.flow.packets_out);
        let since = self.flow.jiffies().wrapping_sub(self.usage.stamp);
        if self.params.slow_start_after_idle
            && since >= self.jiffies_of_rto()
            && !self.needs.full_control
        {
            self.shrink_to_use();
        }
    }

    /// Half way down to what was used, when that was less for a whole timeout.
    fn shrink_to_use(&mut self) {
        if self.flow.state == State::Open {
            let used = self.usage.used.max(self.params.initial_window);
            if used < self.flow.cwnd {
                self.flow.ssthresh = self.flow.current_ssthresh();
                self.flow.cwnd = (self.flow.cwnd + used) >> 1;
            }
            self.usage.used = 0;
        }
        self.usage.stamp = self.flow.jiffies();
    }

    /// The window does not take the next segment and nothing is in flight that could open it.
    pub(super) fn arm_window_probe(&mut self) {
        if self.flow.packets_out == 0 && self.timer.is_none() {
            let base = u64::from(self.rto.rto.max(self.rto.floor()));
            self.arm(Purpose::WindowProbe, base);
        }
    }

    /// An acknowledgement with nothing in flight: the window is open again, or probed on.
    pub(super) fn answer_to_window_probe(&mut self) {
        if self.unsent() == 0 {
            return;
        }
        if self.fits_peer_window() {
            self.rto.backoff = 0;
            if self.is_armed_for(Purpose::WindowProbe) {
                self.timer = None;
            }
        } else {
            self.arm(Purpose::WindowProbe, self.rto.window_probe());
        }
    }

    /// Sends what fits an open window, however little, or asks without data.
    pub(super) fn probe_window(&mut self) {
        if self.flow.packets_out > 0 || self.unsent() == 0 {
            return;
        }
        let room = self.window_end().saturating_sub(self.flow.snd_nxt);
        self.stats.window_probes += 1;
        if room > 0 {
            let len = room.min(self.unsent()).min(u64::from(self.params.mss));
            self.staged = Some(self.send_new_of(len as u16));
            self.rto.backoff = 0;
            return;
        }
        self.staged = Some(Segment {
            seq: self.flow.snd_una,
            len: 0,
            timestamps: self.timestamps(),
            ecn: crate::segment::Ecn::NotEct,
            cwr: false,
            push: false,
            is_retransmission: false,
        });
        self.rto.backoff = self.rto.backoff.saturating_add(1);
        self.arm(Purpose::WindowProbe, self.rto.window_probe());
    }
}
