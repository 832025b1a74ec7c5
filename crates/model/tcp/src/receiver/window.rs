//! The window that is offered.
//!
//! # References
//! RFC 9293 section 3.8.6 (never retract, silly windows), RFC 7323 section 2; Linux 6.12
//! `__tcp_select_window`, `tcp_select_window`, `tcp_grow_window`.

use super::{Params, Receiver, packets};
use crate::receive_window::Rule;

/// Memory of a packet beyond its payload: a full one takes 2,304 bytes, as the referee's kernel counts.
const OVERHEAD: u64 = 2_304 - 1_448;

#[derive(Clone, Debug)]
pub(super) struct Window {
    /// What was last offered, counted from `updated`.
    pub granted: u32,
    /// The acknowledgement that it was offered with.
    pub updated: u64,
    scale: u8,
    /// Grows with what arrives, so that a sender cannot fill a large buffer with small segments.
    threshold: u32,
}

impl Window {
    pub(super) fn new(params: &Params) -> Window {
        let rule = params.rule.build();
        let granted = params.initial_window.min(rule.window());
        Window {
            granted,
            updated: 0,
            scale: params.window_scale.min(14),
            threshold: granted,
        }
    }

    /// First byte beyond what was offered.
    pub(super) fn right_edge(&self) -> u64 {
        self.updated + u64::from(self.granted)
    }

    /// What is left of the offer once `next` is reached.
    pub(super) fn offered(&self, next: u64) -> u32 {
        self.right_edge().saturating_sub(next) as u32
    }

    fn unit(&self) -> u32 {
        1 << self.scale
    }
}

impl Receiver {
    /// What the rule would offer if nothing waited to be read.
    pub(super) fn full_window(&self) -> u32 {
        self.rule.window()
    }

    fn free_space(&self) -> u32 {
        u64::from(self.full_window()).saturating_sub(self.used_space()) as u32
    }

    /// What the data that waits takes of the window. One that counts memory is the part of a buffer that is payload if no
    /// two segments are merged (Linux `scaling_ratio`, `tcp_win_from_space`); merged ones take less.
    fn used_space(&self) -> u64 {
        let bytes = self.readable() + self.data.held;
        let size = u64::from(self.acking.segment_size);
        if size == 0 || !self.rule.counts_memory() {
            return bytes;
        }
        let ratio = size * 256 / (size + OVERHEAD);
        let held = self
            .data
            .held
            .div_ceil(size * packets::MOST)
            .max(self.data.holes());
        (bytes + OVERHEAD * (self.packets.count() + held)) * ratio / 256
    }

    /// The window to offer by rule and free space: nothing rather than little.
    pub(super) fn target_window(&mut self) -> u32 {
        let full = self.full_window();
        let unit = self.window.unit();
        let size = self.acking.segment_size.clamp(1, full.max(1));
        let mut free = self.free_space();
        if free < full / 2 {
            self.acking.quick = 0;
            free -= free % unit;
            if free < full / 16 || free < size {
                return 0;
            }
        }
        free.min(self.window.threshold).next_multiple_of(unit)
    }

    /// Chooses the window of an acknowledgement that leaves now.
    pub(super) fn select_window(&mut self) -> u32 {
        let unit = self.window.unit();
        let offered = self.window.offered(self.data.next);
        let target = self.target_window();
        let window = if target < offered {
            offered.next_multiple_of(unit)
        } else {
            target
        };
        let window = window.min(65_535 * unit);
        self.window.granted = window;
        self.window.updated = self.data.next;
        window / unit * unit
    }

    /// Allows two segments more for each that has arrived.
    #[inline]
    pub(super) fn grow_window_threshold(&mut self, len: u32) {
        let full = self.full_window();
        if full <= self.window.threshold {
            return;
        }
        let room = full.min(self.free_space());
        let room = room.saturating_sub(self.window.threshold);
        if room > 0 {
            let step = (2 * self.params.mss).max(2 * len);
            self.window.threshold += room.min(step);
            self.acking.quick |= 1;
        }
    }
}
