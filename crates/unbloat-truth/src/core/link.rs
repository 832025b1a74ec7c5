//! A first-in first-out queue of limited bytes in front of a link of known rate.

use crate::core::RateSchedule;
use std::collections::VecDeque;
use unbloat_units::{Bytes, Time};

/// The queue and the link it feeds.
///
/// The rate is known in advance and the queue never reorders, so a packet's departure is fixed the
/// moment it is accepted. Departures are computed from departures, never from when somebody looked
/// at the clock: a late driver delays packets but does not slow the link down.
#[derive(Clone, Debug)]
pub struct Link {
    schedule: RateSchedule,
    limit: Bytes,
    free_at: Time,
    waiting: VecDeque<(Time, u32)>,
    queued: Bytes,
}

impl Link {
    /// `limit` bounds the IP bytes that wait, the packet being sent included.
    pub fn new(schedule: RateSchedule, limit: Bytes) -> Link {
        Link {
            schedule,
            limit,
            free_at: Time::MIN,
            waiting: VecDeque::new(),
            queued: Bytes::ZERO,
        }
    }

    pub fn schedule(&self) -> &RateSchedule {
        &self.schedule
    }

    /// Takes a packet; returns when its last bit will have left, or `None` for a tail drop.
    pub fn offer(&mut self, now: Time, ip_bytes: u32) -> Option<Time> {
        let size = Bytes::new(u64::from(ip_bytes));
        if self.queued(now) + size > self.limit {
            return None;
        }
        self.free_at = self.schedule.finish(now.max(self.free_at), ip_bytes);
        self.waiting.push_back((self.free_at, ip_bytes));
        self.queued += size;
        Some(self.free_at)
    }

    /// Sends nothing new before `until`.
    pub fn hold(&mut self, until: Time) {
        self.free_at = self.free_at.max(until);
    }

    /// IP bytes in the queue at `now`, the packet being sent included.
    pub fn queued(&mut self, now: Time) -> Bytes {
        while let Some((leaves, size)) = self.waiting.front() {
            if *leaves > now {
                break;
            }
            self.queued = self.queued - Bytes::new(u64::from(*size));
            self.waiting.pop_front();
        }
        self.queued
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::{Delta, Rate};

    fn link(limit: u64) -> Link {
        Link::new(RateSchedule::constant(Rate::mbps(12)), Bytes::new(limit))
    }

    fn at_ms(ms: i64) -> Time {
        Time::default() + Delta::ms(ms)
    }

    #[test]
    fn departures_follow_departures_however_late_the_packets_were_offered() {
        let mut link = link(100_000);
        assert_eq!(link.offer(at_ms(0), 1500), Some(at_ms(1)));
        assert_eq!(link.offer(at_ms(0), 1500), Some(at_ms(2)));
        assert_eq!(link.offer(at_ms(1) + Delta::us(900), 1500), Some(at_ms(3)));
        assert_eq!(link.offer(at_ms(9), 1500), Some(at_ms(10)));
    }

    #[test]
    fn the_byte_limit_drops_the_tail_and_room_returns_at_departures() {
        let mut link = link(3000);
        assert!(link.offer(at_ms(0), 1500).is_some());
        assert!(link.offer(at_ms(0), 1500).is_some());
        assert_eq!(link.offer(at_ms(0), 40), None);
        assert_eq!(link.queued(at_ms(1)), Bytes::new(1500));
        assert!(link.offer(at_ms(1), 1500).is_some());
    }

    #[test]
    fn a_held_link_sends_after_the_hold() {
        let mut link = link(3000);
        link.hold(at_ms(50));
        assert_eq!(link.offer(at_ms(10), 1500), Some(at_ms(51)));
    }
}
