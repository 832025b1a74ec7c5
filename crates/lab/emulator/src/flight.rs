//! Packets that have left the path but for the delay at its end.

use std::collections::VecDeque;
use unbloat_qdisc::Backlog;
use unbloat_units::{Bytes, Delta, Time};

/// Of one direction.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    delay: Delta,
    /// When each arrives and how long it is, if that is asked for; in order.
    packets: VecDeque<(Time, Bytes)>,
    bytes: Bytes,
    is_watched: bool,
}

impl Flight {
    pub(crate) fn set_delay(&mut self, delay: Delta, is_watched: bool) {
        self.delay = delay;
        self.is_watched = is_watched && delay > Delta::ZERO;
    }

    /// When a packet arrives that begins now.
    #[inline]
    pub(crate) fn begin(&mut self, now: Time, len: Bytes) -> Time {
        let at = now + self.delay;
        if self.is_watched {
            self.packets.push_back((at, len));
            self.bytes += len;
        }
        at
    }

    /// What is under way, together with what is elsewhere on the path.
    pub(crate) fn add_to(&mut self, now: Time, path: Backlog) -> Backlog {
        while let Some(&(at, len)) = self.packets.front()
            && at <= now
        {
            self.packets.pop_front();
            self.bytes = self.bytes - len;
        }
        Backlog {
            packets: path.packets + self.packets.len() as u32,
            bytes: path.bytes + self.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_under_way_until_they_arrive() {
        let mut flight = Flight::default();
        flight.set_delay(Delta::ms(20), true);
        let at = |ms: i64| Time::from_ns(ms * 1_000_000);
        assert_eq!(flight.begin(at(0), Bytes::new(100)), at(20));
        assert_eq!(flight.begin(at(5), Bytes::new(50)), at(25));
        let path = Backlog {
            packets: 1,
            bytes: Bytes::new(10),
        };
        let all = |under_way: &mut Flight, ms| {
            let backlog = under_way.add_to(at(ms), path);
            (backlog.packets, backlog.bytes.as_u64())
        };
        assert_eq!(all(&mut flight, 19), (3, 160));
        assert_eq!(all(&mut flight, 20), (2, 60));
        assert_eq!(all(&mut flight, 30), (1, 10));
    }
}
