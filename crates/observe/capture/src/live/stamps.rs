//! From the kernel's stamps, which go by the wall clock, to the monotonic clock.
//!
//! A host's wall clock is set when it has found a time server; a router's, which has no battery, often after a daemon has begun. So nothing
//! that runs long decides by it.

use unbloat_os::clock::{monotonic, wall};
use unbloat_units::{Delta, Time};

/// How far the wall clock is ahead at one look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wall {
    ahead: Delta,
    /// Of the look.
    now: Time,
}

impl Wall {
    pub(super) fn look() -> Wall {
        let now = monotonic();
        Wall {
            ahead: wall() - now,
            now,
        }
    }
}

/// Makes times that never go back and are never ahead, whatever was done to the wall clock between a stamp and the look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamps {
    wall: Wall,
    last: Time,
}

impl Stamps {
    pub(super) fn from(wall: Wall) -> Stamps {
        Stamps {
            wall,
            last: wall.now,
        }
    }

    /// Packets stamped until now are next.
    pub(super) fn look(&mut self, wall: Wall) {
        self.wall = wall;
    }

    /// When a packet passed that was stamped before `look` looks.
    pub(super) fn time(&mut self, stamp: Time, look: impl FnOnce() -> Wall) -> Time {
        if stamp - self.wall.ahead > self.wall.now {
            self.wall = look();
        }
        let at = stamp - self.wall.ahead;
        self.last = at.max(self.last).min(self.wall.now.max(self.last));
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Delta = Delta::secs(3_600);

    #[test]
    fn a_step_of_the_wall_clock_moves_no_packet_by_more_than_a_look() {
        const LOOK: Delta = Delta::ms(10);
        let before = HOUR * 24;
        for after in [HOUR * 23, HOUR * 25] {
            let zero = Time::from_ns(0);
            let wall = |ahead, now| Wall { ahead, now };
            let mut stamps = Stamps::from(wall(before, zero));
            for look in 0..100_i64 {
                let begun = zero + LOOK * look;
                let found = if look < 50 { before } else { after };
                let now = wall(found, begun + LOOK);
                stamps.look(now);
                for part in 0..10 {
                    // Set in the middle of a look: its packets were stamped by both.
                    let stamped = if (look, part) < (50, 5) {
                        before
                    } else {
                        after
                    };
                    let at = begun + Delta::ms(part);
                    let told = stamps.time(at + stamped, || now);
                    assert!(begun - LOOK <= told && told <= now.now, "{look}.{part}");
                    assert!(told == at || look == 50, "{look}.{part}");
                }
            }
        }
    }

    #[test]
    fn what_passes_after_a_look_is_looked_at_again() {
        let (zero, ahead) = (Time::from_ns(0), HOUR);
        let mut stamps = Stamps::from(Wall { ahead, now: zero });
        let later = zero + Delta::ms(3);
        let told = stamps.time(later + ahead, || Wall {
            ahead,
            now: later + Delta::us(1),
        });
        assert_eq!(told, later);
    }

    #[test]
    fn the_monotonic_clock_is_not_the_wall_clock() {
        let (before, wall) = (monotonic(), Wall::look());
        assert!(before <= wall.now);
        assert!(wall.ahead > HOUR, "a host up since 1970");
    }
}
