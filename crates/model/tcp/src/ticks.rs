//! When the kernel's timers fire.
//!
//! TCP's timers (all but pacing and the compression of ACKs) are timers of the wheel: they count ticks, never fire early,
//! and the further away they are, the coarser they are.
//!
//! # References
//! Linux 6.12 `kernel/time/timer.c` (`calc_index`, `calc_wheel_index`), `usecs_to_jiffies`.
//!
//! # Where we differ
//! 1. Ticks are counted from the origin of our clock, the kernel's from five minutes before it boots: which of two
//!    multiples of a coarse step a timer meets differs, how coarse the step is does not.

use unbloat_units::{Delta, Time};

/// A level has this many slots less one, before the next one takes over.
const SLOTS: u64 = 63;
/// Each level counts in steps eight times as long as those of the level before.
const SHIFT: u32 = 3;
const LEVELS: u32 = 9;

/// When a timer fires that is set now, on a kernel with `hz` ticks a second.
pub fn timer_expiry(now: Time, after: Delta, hz: u32) -> Time {
    let us = |ns: i64| (ns / 1_000).max(0) as u64;
    let at = expiry_us(us(now.as_ns()), us(after.as_ns()), hz);
    Time::from_ns(at as i64 * 1_000)
}

/// The same in microseconds.
pub(crate) fn expiry_us(now_us: u64, after_us: u64, hz: u32) -> u64 {
    let after = (after_us * u64::from(hz)).div_ceil(1_000_000);
    let expires = ticks(now_us, hz) + after;
    let level = (0..LEVELS - 1).find(|level| after < SLOTS << (SHIFT * level));
    let shift = SHIFT * level.unwrap_or(LEVELS - 1);
    us(((expires >> shift) + 1) << shift, hz)
}

/// The begin of the tick.
pub(crate) fn tick_us(now_us: u64, hz: u32) -> u64 {
    us(ticks(now_us, hz), hz)
}

fn ticks(us: u64, hz: u32) -> u64 {
    us * u64::from(hz) / 1_000_000
}

fn us(ticks: u64, hz: u32) -> u64 {
    (ticks * 1_000_000).div_ceil(u64::from(hz))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_fires_with_the_tick_after_the_one_it_was_set_for() {
        // The loss probe of a connection over 8 ms, as the kernel sent it: set at 41.26 ms for 18.96 ms.
        assert_eq!(expiry_us(41_265, 18_960, 1_000), 61_000);
        assert_eq!(expiry_us(41_265, 18_960, 250), 64_000);
    }

    #[test]
    fn far_timers_are_coarse() {
        for (after_ms, step_ms) in [
            (62, 1),
            (63, 8),
            (503, 8),
            (504, 64),
            (4_031, 64),
            (4_032, 512),
        ] {
            let at_ms = expiry_us(5_000_000, after_ms * 1_000, 1_000) / 1_000;
            assert_eq!(at_ms % step_ms, 0, "{after_ms}");
            assert!(at_ms > 5_000 + after_ms && at_ms <= 5_000 + after_ms + step_ms);
        }
    }

    #[test]
    fn no_timer_fires_early() {
        for hz in [100, 250, 300, 1_000] {
            for now_us in [0, 1, 999, 3_333, 1_000_000] {
                for after_us in [1, 1_000, 40_000, 200_001, 9_000_000, 3_600_000_000] {
                    assert!(expiry_us(now_us, after_us, hz) > now_us + after_us);
                }
            }
        }
    }
}
