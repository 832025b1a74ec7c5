//! The round-trip time as a receiver sees it.
//!
//! # References
//! Linux 6.12 `tcp_rcv_rtt_measure_ts` (timestamps: our clock comes back with the sender's data),
//! `tcp_rcv_rtt_measure` (without: the time in which a window of data arrives; only the least
//! counts, because it is too long whenever the window does not limit).

use super::Receiver;
use crate::segment::{Segment, Timestamps};
use unbloat_units::Seq;

#[derive(Clone, Debug, Default)]
pub(super) struct Rtt {
    smoothed_us8: u32,
    min_us: Option<u32>,
    last_echo: Seq,
    round_end: u64,
    round_start_us: u64,
}

impl Rtt {
    pub(super) fn smoothed_us8(&self) -> u32 {
        self.smoothed_us8
    }

    pub(super) fn min_us(&self) -> u32 {
        self.min_us.unwrap_or(0)
    }

    fn take(&mut self, sample: u32, by_window: bool) {
        let scaled = sample.saturating_mul(8);
        if self.smoothed_us8 == 0 || scaled < self.smoothed_us8 {
            self.smoothed_us8 = scaled;
        } else if !by_window {
            self.smoothed_us8 = self.smoothed_us8 - (self.smoothed_us8 >> 3) + sample;
        }
        if !by_window {
            self.min_us = Some(self.min_us.map_or(sample, |min| min.min(sample)));
        }
    }
}

impl Receiver {
    /// By the time that a window of data takes.
    pub(super) fn measure_round(&mut self) -> Option<u32> {
        let now = self.now_us;
        let rtt = &mut self.rtt;
        let mut sample = None;
        if rtt.round_start_us != 0 {
            if self.data.next < rtt.round_end {
                return None;
            }
            let span = (now - rtt.round_start_us).max(1);
            let span = span.min(u64::from(u32::MAX)) as u32;
            rtt.take(span, true);
            sample = Some(span);
        }
        rtt.round_end = self.data.next + u64::from(self.window.granted);
        rtt.round_start_us = now;
        sample
    }

    /// By the echo of our clock, once for each of its values.
    pub(super) fn measure_by_echo(&mut self, segment: &Segment) -> Option<u32> {
        let echo = segment.timestamps?.echo;
        if echo == self.rtt.last_echo || segment.len < self.acking.segment_size {
            return None;
        }
        self.rtt.last_echo = echo;
        let ms = Timestamps::clock(self.now).since(echo);
        let sample = u32::try_from(ms)
            .ok()
            .filter(|&ms| ms > 0)?
            .saturating_mul(1_000);
        self.rtt.take(sample, false);
        Some(sample)
    }
}
