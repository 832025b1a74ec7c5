//! When to acknowledge: at once, with the second segment, or after a delay.
//!
//! # References
//! RFC 5681 section 4.2; Linux 6.12 `__tcp_ack_snd_check`, `tcp_event_data_recv`,
//! `tcp_send_delayed_ack`, `tcp_cleanup_rbuf`: the first segments of a connection, and those after
//! trouble, are acknowledged one by one ("quick ACKs"); the delay is at least 40 ms and follows the
//! spacing of segments; ACKs that only add to SACK blocks are held back for 5 % of a round trip.

use super::{Receiver, clock_us};
use crate::segment::Segment;
use unbloat_units::Time;

pub(super) const MAX_QUICK_ACKS: u32 = 16;
/// Least and largest delay, microseconds.
const MIN_DELAY_US: u64 = 40_000;
const MAX_DELAY_US: u64 = 200_000;
/// What Linux takes a round trip to be that it has not measured: its initial timeout.
const LONG_GAP_US: u64 = 1_000_000;
/// Most that an ACK is held back while data arrives out of order.
const COMPRESSION_US: u64 = 1_000;
/// Duplicate ACKs that are never held back: those that start recovery.
const DUPLICATES: u8 = 3;
/// The size that segments are taken to have at first: never too large.
const SMALL_SEGMENT: u32 = 536;

#[derive(Clone, Debug, Default)]
pub(super) struct Acking {
    /// An ACK is to leave with the next poll.
    pub due: bool,
    /// Something has arrived that is to be acknowledged, sooner or later.
    pub scheduled: bool,
    /// It is to be acknowledged at once.
    pub now: bool,
    /// ACKs that are still sent one by one.
    pub quick: u32,
    delay_us: u64,
    timer_us: Option<u64>,
    last_arrival_us: u64,
    /// Size of full segments, as seen.
    pub segment_size: u32,
    last_size: u32,
    /// A segment with PSH has arrived: once, or twice.
    pushed: bool,
    pushed_twice: bool,
    compressed: u8,
    compression_us: Option<u64>,
    duplicates: u8,
    duplicates_of: u64,
}

impl Acking {
    pub(super) fn timeout(&self) -> Option<Time> {
        let due = [self.timer_us, self.compression_us]
            .into_iter()
            .flatten()
            .min();
        due.map(|us| Time::from_ns((us as i64 - 1_000_000) * 1_000))
    }

    pub(super) fn is_compressing(&self) -> bool {
        self.compressed > 0
    }

    /// Learns the size of full segments.
    pub(super) fn measure(&mut self, segment: &Segment) {
        let last = std::mem::take(&mut self.last_size);
        let size = self.segment_size.max(SMALL_SEGMENT);
        if segment.len >= size {
            self.segment_size = segment.len;
            self.pushed |= segment.push;
            return;
        }
        if segment.len >= SMALL_SEGMENT || (segment.len >= 88 && !segment.push) {
            self.last_size = segment.len;
            if segment.len == last {
                self.segment_size = segment.len;
                return;
            }
        }
        self.pushed_twice |= self.pushed;
        self.pushed = true;
    }

    /// An ACK leaves: nothing is owed any more.
    pub(super) fn sent(&mut self) {
        self.due = false;
        self.scheduled = false;
        self.now = false;
        self.pushed = false;
        self.pushed_twice = false;
        self.quick = self.quick.saturating_sub(1);
        if self.quick == 0 {
            self.delay_us = self.delay_us.max(MIN_DELAY_US);
        }
        self.timer_us = None;
        self.compressed = 0;
        self.compression_us = None;
    }
}

impl Receiver {
    /// Acknowledge the next segments one by one: half a window of them, at most `max`.
    pub(super) fn want_quick_acks(&mut self, max: u32) {
        self.raise_quick_acks(max);
        self.acking.delay_us = MIN_DELAY_US;
    }

    fn raise_quick_acks(&mut self, max: u32) {
        let size = self.acking.segment_size.max(SMALL_SEGMENT);
        let half = self.window.granted / (2 * size);
        let quick = if half == 0 { 2 } else { half }.min(max);
        self.acking.quick = self.acking.quick.max(quick);
    }

    /// Adapts the delay to the spacing of segments.
    pub(super) fn pace_acks(&mut self) {
        let now = clock_us(self.now);
        let gap = now - self.acking.last_arrival_us;
        let delay = self.acking.delay_us;
        if delay == 0 {
            self.raise_quick_acks(MAX_QUICK_ACKS);
            self.acking.delay_us = MIN_DELAY_US;
        } else if gap <= MIN_DELAY_US / 2 {
            self.acking.delay_us = delay / 2 + MIN_DELAY_US / 2;
        } else if gap < delay {
            self.acking.delay_us = (delay / 2 + gap).min(MAX_DELAY_US);
        } else if gap > LONG_GAP_US {
            self.raise_quick_acks(MAX_QUICK_ACKS);
        }
        self.acking.last_arrival_us = now;
    }

    /// After a segment: acknowledge now, or later.
    pub(super) fn decide_to_ack(&mut self) {
        if !self.acking.scheduled {
            return;
        }
        let unacked = self.data.next - self.window.updated;
        let size = self.acking.segment_size.max(SMALL_SEGMENT);
        // The application's reading will acknowledge it if the window cannot open before.
        let is_asleep = self.readable() < u64::from(self.params.low_water);
        let is_second =
            unacked > u64::from(size) && (is_asleep || self.target_window() >= self.window.granted);
        let at_once = is_second || self.acking.quick > 0 || self.acking.now;
        if at_once || self.params.ack_every_segment {
            self.acking.due = true;
        } else if self.data.holes_are_filled() {
            self.delay_ack();
        } else {
            self.compress_ack();
        }
    }

    fn delay_ack(&mut self) {
        let now = clock_us(self.now);
        let mut delay = self.acking.delay_us;
        if delay > MIN_DELAY_US {
            delay = delay.min(if self.acking.pushed {
                MAX_DELAY_US
            } else {
                500_000
            });
        }
        // Never as long as the sender's least timeout.
        let due = now + delay.min(MAX_DELAY_US - 1_000);
        match self.acking.timer_us {
            Some(set) if set <= now + delay / 4 => self.acking.due = true,
            Some(set) => self.acking.timer_us = Some(set.min(due)),
            None => self.acking.timer_us = Some(due),
        }
    }

    fn compress_ack(&mut self) {
        let next = self.data.next;
        let acking = &mut self.acking;
        if acking.compressed >= self.params.compressed_acks {
            acking.due = true;
            return;
        }
        if acking.duplicates_of != next {
            acking.duplicates_of = next;
            acking.duplicates = 0;
        }
        if acking.duplicates < DUPLICATES {
            acking.duplicates += 1;
            acking.due = true;
            return;
        }
        acking.compressed += 1;
        self.stats.acks_compressed += 1;
        let delay = (u64::from(self.rtt.smoothed_us8()) / 160).min(COMPRESSION_US);
        let due = clock_us(self.now) + delay;
        self.acking.compression_us.get_or_insert(due);
    }

    pub(super) fn expire_ack_timers(&mut self) {
        let now = clock_us(self.now);
        if self.acking.compression_us.is_some_and(|due| due <= now) {
            self.acking.due = true;
        }
        if self.acking.timer_us.is_some_and(|due| due <= now) {
            self.acking.timer_us = None;
            if self.acking.scheduled {
                // Nothing came to go with it: wait longer next time.
                self.acking.delay_us = (self.acking.delay_us * 2).min(MAX_DELAY_US);
                self.stats.delayed_acks += 1;
                self.acking.due = true;
            }
        }
    }

    /// After the application has read: an ACK that waited for room, or a window that has opened.
    pub(super) fn ack_after_read(&mut self) {
        if self.acking.due {
            return;
        }
        if self.acking.scheduled {
            let unacked = self.data.next - self.window.updated;
            let size = self.acking.segment_size.max(SMALL_SEGMENT);
            let pushed = self.acking.pushed || self.acking.pushed_twice;
            let is_empty = self.readable() == 0 && self.data.holes_are_filled();
            self.acking.due = unacked > u64::from(size) || (pushed && is_empty);
        }
        let offered = self.window.offered(self.data.next);
        if !self.acking.due && 2 * u64::from(offered) <= u64::from(self.full_window()) {
            let target = self.target_window();
            self.acking.due = target > 0 && u64::from(target) >= 2 * u64::from(offered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Params, Receiver};
    use crate::receive_window::{Config, drs};
    use crate::segment::{Ecn, Segment, Timestamps};
    use unbloat_units::{Bytes, Delta, Time};

    const MSS: u32 = 1_448;

    fn segment(number: u64, now: Time, rtt: Delta) -> Segment {
        Segment {
            seq: number * u64::from(MSS),
            len: MSS,
            timestamps: Some(Timestamps {
                value: Timestamps::clock(now),
                echo: Timestamps::clock(now - rtt),
            }),
            ecn: Ecn::NotEct,
            cwr: false,
            push: false,
            is_retransmission: false,
        }
    }

    /// Segments of three rounds of slow start, 1.2 ms apart, to an application that waits for 16 KiB. What is
    /// expected is what Linux 6.12 did: sixteen quick ACKs, five more while the window grows into what
    /// segments turned out to cost, then every second segment, and single ones again once the third
    /// read has made the window larger.
    #[test]
    fn a_connection_begins_with_the_acks_that_linux_sends() {
        let start = Time::from_ns(0);
        let mut receiver = Receiver::new(
            start,
            Params {
                low_water: 16 << 10,
                rule: Config::Drs(drs::Params {
                    initial: Bytes::new(81_920),
                    max: Bytes::new(3_932_160),
                }),
                ..Params::default()
            },
        );
        let mut acks = Vec::new();
        let mut number = 0;
        for (round, count) in [(0, 10), (1, 20), (2, 20)] {
            for place in 0..count {
                let now = start + Delta::us(41_200) * (round + 1) + Delta::us(1_200) * place;
                receiver.on_segment(now, &segment(number, now, Delta::ms(41)));
                number += 1;
                acks.extend(receiver.poll_ack(now));
                if receiver.is_worth_reading() {
                    receiver.read(now, u64::MAX);
                    acks.extend(receiver.poll_ack(now));
                }
            }
        }
        let acked: Vec<u64> = acks.iter().map(|ack| ack.ack / u64::from(MSS)).collect();
        let pairs = (23..=37).step_by(2);
        let expected: Vec<u64> = (1..=21).chain(pairs).chain(38..=50).collect();
        assert_eq!(acked, expected);
    }
}
