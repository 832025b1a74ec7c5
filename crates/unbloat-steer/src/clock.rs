//! Time. All that is decided goes by the monotonic clock: a host's wall clock is set when it has found a server of time, and a router's,
//! which has no battery, often after this has begun.

use rustix::time::{ClockId, clock_gettime};
use unbloat_units::{Delta, Time};

pub(crate) fn now() -> Time {
    read(ClockId::Monotonic)
}

/// A moment by the wall clock as it is now: for people, and never to decide by.
pub fn by_wall_clock(at: Time) -> Time {
    at + Wall::look().ahead
}

fn read(clock: ClockId) -> Time {
    let now = clock_gettime(clock);
    Time::from_ns(now.tv_sec * 1_000_000_000 + now.tv_nsec)
}

/// How far the wall clock, by which packets are stamped, is ahead at one look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wall {
    ahead: Delta,
    /// Of the look.
    now: Time,
}

impl Wall {
    pub(crate) fn look() -> Wall {
        let now = now();
        Wall {
            ahead: read(ClockId::Realtime) - now,
            now,
        }
    }
}

/// From stamps to times that never go back and are never ahead, whatever was done to the wall clock between a stamp and the look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamps {
    last: Time,
}

impl Stamps {
    pub(crate) fn from(begun: Time) -> Stamps {
        Stamps { last: begun }
    }

    /// When a packet passed whose stamp was read before this look.
    pub(crate) fn time(&mut self, stamp: Time, wall: Wall) -> Time {
        let at = stamp - wall.ahead;
        self.last = at.max(self.last).min(wall.now.max(self.last));
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Delta = Delta::secs(3_600);

    fn wall(ahead: Delta, now: Time) -> Wall {
        Wall { ahead, now }
    }

    #[test]
    fn a_step_of_the_wall_clock_moves_no_packet_by_more_than_a_look() {
        const LOOK: Delta = Delta::ms(10);
        let before = HOUR * 24;
        for after in [HOUR * 23, HOUR * 25] {
            let mut stamps = Stamps::from(Time::from_ns(0));
            for look in 0..100_i64 {
                let begun = Time::from_ns(0) + LOOK * look;
                let found = if look < 50 { before } else { after };
                let wall = wall(found, begun + LOOK);
                for part in 0..10 {
                    // Set in the middle of a look: its packets were stamped by both.
                    let stamped = if (look, part) < (50, 5) {
                        before
                    } else {
                        after
                    };
                    let at = begun + Delta::ms(part);
                    let told = stamps.time(at + stamped, wall);
                    assert!(begun - LOOK <= told && told <= wall.now, "{look}.{part}");
                    assert!(told == at || look == 50, "{look}.{part}");
                }
            }
        }
    }

    #[test]
    fn the_clock_of_decisions_is_not_the_wall_clock() {
        let (before, wall) = (now(), Wall::look());
        assert!(before <= wall.now);
        let shown = by_wall_clock(before);
        let off = shown - before - wall.ahead;
        assert!(off < HOUR && Delta::ZERO - HOUR < off);
    }
}
