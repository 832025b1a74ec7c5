//! When to acknowledge: at once, with the second segment, or after a delay.
//!
//! # References
//! RFC 5681 section 4.2; Linux 6.12 `__tcp_ack_snd_check`, `tcp_event_data_recv`,
//! `tcp_send_delayed_ack`, `tcp_cleanup_rbuf`: the first segments of a connection, and those after
//! trouble, are acknowledged one by one ("quick ACKs"); the delay is at least 40 ms and follows the
//! spacing of segments; ACKs that only add to SACK blocks are held back for 5 % of a round trip.

use super::Receiver;
use crate::segment::Segment;
use crate::ticks::{expiry_us, tick_us};
use unbloat_units::{Delta, Time};

pub(super) const MAX_QUICK_ACKS: u32 = 16;
/// Least and largest delay, microseconds.
const MIN_DELAY_US: u64 = 40_000;
const MAX_DELAY_US: u64 = 200_000;
/// The timeout before a round trip was measured.
const INITIAL_TIMEOUT_US: u64 = 1_000_000;
/// What a timeout is longer than the first round trip, at least.
const MIN_TIMEOUT_US: u64 = 200_000;
/// Most that an ACK is held back while data arrives out of order.
const COMPRESSION_US: u64 = 1_000;
/// So much later the timer may fire (`tcp_comp_sack_slack_ns`), and does where nothing else wakes the kernel.
const COMPRESSION_SLACK_US: u64 = 100;
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
    timer: Option<DelayTimer>,
    /// The round trip of the handshake; zero: unknown.
    handshake_us: u64,
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

/// Of a delayed ACK.
#[derive(Clone, Copy, Debug)]
struct DelayTimer {
    /// What it was set for.
    due_us: u64,
    fires_us: u64,
}

impl Acking {
    pub(super) fn seed(&mut self, rtt: Delta) {
        self.handshake_us = rtt.as_us().max(1) as u64;
    }

    /// The socket's own retransmission timeout, which the handshake has set.
    fn own_timeout_us(&self) -> u64 {
        match self.handshake_us {
            0 => INITIAL_TIMEOUT_US,
            rtt => rtt + MIN_TIMEOUT_US.max(2 * rtt),
        }
    }

    /// The longest delay that the handshake's round trip allows.
    fn longest_delay_us(&self) -> u64 {
        match self.handshake_us {
            0 => u64::MAX,
            rtt => rtt.max(MIN_DELAY_US),
        }
    }

    #[inline]
    pub(super) fn timeout(&self) -> Option<Time> {
        let delayed = self.timer.map(|timer| timer.fires_us);
        let us = match (delayed, self.compression_us) {
            (Some(delayed), Some(compression)) => delayed.min(compression),
            (one, other) => one.or(other)?,
        };
        Some(Time::from_ns((us as i64 - 1_000_000) * 1_000))
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
        self.timer = None;
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
        let now = tick_us(self.now_us, self.params.hz);
        let gap = now - self.acking.last_arrival_us;
        let timeout = self.acking.own_timeout_us();
        let delay = self.acking.delay_us;
        if delay == 0 {
            self.raise_quick_acks(MAX_QUICK_ACKS);
            self.acking.delay_us = MIN_DELAY_US;
        } else if gap <= MIN_DELAY_US / 2 {
            self.acking.delay_us = delay / 2 + MIN_DELAY_US / 2;
        } else if gap < delay {
            self.acking.delay_us = (delay / 2 + gap).min(timeout).min(MAX_DELAY_US);
        } else if gap > timeout {
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
        let (now, hz) = (self.now_us, self.params.hz);
        let mut delay = self.acking.delay_us;
        if delay > MIN_DELAY_US {
            let longest = if self.acking.pushed {
                MAX_DELAY_US
            } else {
                500_000
            };
            delay = delay.min(longest).min(self.acking.longest_delay_us());
        }
        // Never as long as the sender's least timeout.
        let delay = delay.min(MAX_DELAY_US - 1_000);
        let tick = tick_us(now, hz);
        let set = self.acking.timer.map(|timer| timer.due_us);
        if set.is_some_and(|set| set <= tick + delay / 4) {
            self.acking.due = true;
            return;
        }
        let due_us = set.map_or(tick + delay, |set| set.min(tick + delay));
        self.acking.timer = Some(DelayTimer {
            due_us,
            fires_us: expiry_us(tick, due_us - tick, hz),
        });
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
        let mut rtt = u64::from(self.rtt.smoothed_us8()) / 8;
        if self.acking.handshake_us > 0 {
            rtt = rtt.min(self.acking.handshake_us);
        }
        let delay = (rtt / 20).min(COMPRESSION_US) + COMPRESSION_SLACK_US;
        let due = self.now_us + delay;
        self.acking.compression_us.get_or_insert(due);
    }

    pub(super) fn expire_ack_timers(&mut self) {
        let now = self.now_us;
        if self.acking.compression_us.is_some_and(|due| due <= now) {
            self.acking.due = true;
        }
        if self.acking.timer.is_some_and(|timer| timer.fires_us <= now) {
            self.acking.timer = None;
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

    /// Whether a segment is acknowledged at once that comes so long after fifty others.
    fn is_answered_at_once(handshake: Delta, gap: Delta) -> bool {
        let mut now = Time::from_ns(0);
        let mut receiver = Receiver::new(now, Params::default());
        receiver.seed_rtt(handshake);
        let mut is_answered = false;
        for number in 0..51 {
            now += if number == 50 { gap } else { Delta::ms(1) };
            receiver.on_segment(now, &segment(number, now, handshake));
            is_answered = receiver.poll_ack(now).is_some();
            receiver.read(now, u64::MAX);
            while receiver.poll_ack(now).is_some() {}
            if number == 49 && !is_answered {
                // The fiftieth must not wait for the one in question.
                now = receiver.poll_timeout().expect("its ACK is delayed");
                receiver.on_timeout(now);
                assert!(receiver.poll_ack(now).is_some());
            }
        }
        is_answered
    }

    #[test]
    fn a_gap_longer_than_the_timeout_by_the_handshake_brings_quick_acks() {
        assert!(is_answered_at_once(Delta::ms(8), Delta::ms(300)));
        assert!(!is_answered_at_once(Delta::ms(200), Delta::ms(300)));
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
