//! Westwood+: after congestion, the window is what the measured rate fills in the least round trip.
//!
//! # References
//! Mascolo, Casetti, Gerla, Sanadidi and Wang, "TCP Westwood", MobiCom 2001; Grieco and Mascolo, ACM
//! CCR 34(2), 2004; Linux 6.12 `net/ipv4/tcp_westwood.c`, whose arithmetic is followed: the rate is
//! sampled once a round and not more often than every 50 ms, and filtered twice by 7/8.

use super::{AckKind, AckSample, Congestion, CwndEvent, Flow, newreno};
use unbloat_params::params;

params! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Params: Settings {}
}

/// Times in ticks, rates in bytes per tick.
#[derive(Clone, Debug, Default)]
pub struct Westwood {
    rate_once: u32,
    rate: u32,
    round_start: u32,
    /// Bytes acknowledged in this round.
    bytes: u32,
    snd_una: u64,
    /// Bytes that duplicate ACKs have stood for.
    accounted: u32,
    rtt: u32,
    min_rtt: u32,
    is_started: bool,
    /// The next sample is the least of a new path.
    forget_min_rtt: bool,
}

impl Westwood {
    pub fn new(_params: Params) -> Westwood {
        Westwood::default()
    }

    fn end_round_if_due(&mut self, flow: &Flow) {
        if !self.is_started {
            self.is_started = true;
            self.snd_una = flow.snd_una;
        }
        let now = flow.jiffies();
        let span = now.wrapping_sub(self.round_start) as i32;
        if self.rtt > 0 && span > self.rtt.max(flow.hz / 20) as i32 {
            self.filter(self.bytes / span as u32);
            self.bytes = 0;
            self.round_start = now;
        }
    }

    fn filter(&mut self, sample: u32) {
        let smooth = |old: u32, new: u32| (old.wrapping_mul(7).wrapping_add(new)) >> 3;
        if self.rate_once == 0 && self.rate == 0 {
            self.rate_once = sample;
            self.rate = sample;
        } else {
            self.rate_once = smooth(self.rate_once, sample);
            self.rate = smooth(self.rate, self.rate_once);
        }
    }

    /// Bytes that an ACK stands for: duplicates for a segment each, which later ones leave out.
    fn count(&mut self, flow: &Flow) -> u32 {
        let mut bytes = (flow.snd_una - self.snd_una) as u32;
        if bytes == 0 {
            self.accounted += flow.mss;
            bytes = flow.mss;
        }
        if bytes > flow.mss {
            if self.accounted >= bytes {
                self.accounted -= bytes;
                bytes = flow.mss;
            } else {
                bytes -= self.accounted;
                self.accounted = 0;
            }
        }
        bytes
    }

    fn window(&self, flow: &Flow) -> u32 {
        (self.rate.wrapping_mul(self.min_rtt) / flow.mss).max(2)
    }
}

impl Congestion for Westwood {
    fn init(&mut self, flow: &mut Flow) {
        *self = Westwood {
            round_start: flow.jiffies(),
            snd_una: flow.snd_una,
            // More than any round trip, until there is a sample.
            rtt: 20 * flow.hz,
            min_rtt: 20 * flow.hz,
            forget_min_rtt: true,
            ..Westwood::default()
        };
    }

    fn ssthresh(&mut self, flow: &mut Flow) -> u32 {
        newreno::half(flow)
    }

    fn avoid(&mut self, flow: &mut Flow, acked: u32) {
        newreno::avoid(flow, acked);
    }

    fn on_ack(&mut self, flow: &mut Flow, kind: AckKind) {
        self.end_round_if_due(flow);
        let bytes = if kind.slow_path {
            self.count(flow)
        } else {
            (flow.snd_una - self.snd_una) as u32
        };
        self.bytes = self.bytes.wrapping_add(bytes);
        self.snd_una = flow.snd_una;
        if self.forget_min_rtt {
            self.forget_min_rtt = false;
            self.min_rtt = self.rtt;
        } else {
            self.min_rtt = self.min_rtt.min(self.rtt);
        }
    }

    fn on_event(&mut self, flow: &mut Flow, event: CwndEvent) {
        match event {
            CwndEvent::CompleteCwr => {
                flow.ssthresh = self.window(flow);
                flow.cwnd = flow.ssthresh;
            }
            CwndEvent::Loss => {
                flow.ssthresh = self.window(flow);
                self.forget_min_rtt = true;
            }
            CwndEvent::TxStart | CwndEvent::CwndRestart => {}
        }
    }

    fn acked(&mut self, flow: &mut Flow, sample: &AckSample) {
        if let Some(rtt_us) = sample.rtt_us.filter(|&rtt_us| rtt_us > 0) {
            self.rtt = flow.ticks(rtt_us);
        }
    }
}
