//! A stamped packet that waits until the ticks of both hosts are known.

use super::recorder::{Answer, AtOnce, Echo, Seen, Stamped};
use unbloat_units::{Both, Delta, Direction, Time};

/// Every flow with timestamps begins with some of them, so they are small. Durations are in whole microseconds, as is everything that they are
/// compared with. Longer ones than 71 minutes, and steps of more than 2^31 ticks, are stored as these: no comparison needs more.
#[derive(Clone, Copy)]
pub(super) struct Early {
    now: Time,
    own: i64,
    echoed: i64,
    /// `None` without an echo.
    echo_step: Option<i32>,
    gap: Option<i32>,
    at_once: Option<AtOnce>,
    silence_before_us: Option<u32>,
    silence_us: u32,
    pause_us: u32,
    target_us: u32,
    pub(super) window: u32,
    side: Direction,
    answer: Answer,
    is_light: Both<bool>,
    has_payload: bool,
    is_other_captured: bool,
}

impl Early {
    pub(super) fn new(window: u32, packet: &Stamped) -> Early {
        let seen = packet.seen;
        Early {
            now: seen.now,
            own: packet.own,
            echoed: packet.echo.map_or(0, |echo| echo.position),
            echo_step: packet.echo.map(|echo| ticks(echo.step)),
            gap: packet.gap.map(ticks),
            at_once: packet.at_once,
            silence_before_us: seen.silence_before.map(micros),
            silence_us: micros(seen.silence),
            pause_us: micros(seen.pause),
            target_us: micros(seen.target),
            window,
            side: packet.side,
            answer: seen.answer,
            is_light: seen.is_light,
            has_payload: seen.has_payload,
            is_other_captured: seen.is_other_captured,
        }
    }

    pub(super) fn stamped(&self) -> Stamped {
        let delta = |us: u32| Delta::us(i64::from(us));
        Stamped {
            side: self.side,
            seen: Seen {
                now: self.now,
                has_payload: self.has_payload,
                answer: self.answer,
                is_light: self.is_light,
                pause: delta(self.pause_us),
                silence: delta(self.silence_us),
                silence_before: self.silence_before_us.map(delta),
                is_other_captured: self.is_other_captured,
                target: delta(self.target_us),
            },
            own: self.own,
            gap: self.gap.map(i64::from),
            at_once: self.at_once,
            echo: self.echo_step.map(|step| Echo {
                position: self.echoed,
                step: i64::from(step),
            }),
        }
    }
}

fn micros(delta: Delta) -> u32 {
    u32::try_from(delta.as_us().max(0)).unwrap_or(u32::MAX)
}

fn ticks(count: i64) -> i32 {
    count.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_comes_back_as_it_was() {
        let seen = Seen {
            now: Time::from_ns(1_234_567_890),
            has_payload: true,
            answer: Answer::Several,
            is_light: Both::new(true, false),
            pause: Delta::ms(3),
            silence: Delta::us(17),
            silence_before: Some(Delta::secs(3_600)),
            is_other_captured: true,
            target: Delta::ms(16),
        };
        let packet = Stamped {
            side: Direction::Up,
            seen,
            own: 1 << 40,
            gap: Some(-3),
            at_once: Some(AtOnce::Within { us: 250 }),
            echo: Some(Echo {
                position: 1 << 41,
                step: 4_000,
            }),
        };
        let bare = Stamped {
            seen: Seen {
                silence_before: None,
                ..seen
            },
            gap: None,
            at_once: None,
            echo: None,
            ..packet
        };
        for one in [packet, bare] {
            assert_eq!(Early::new(7, &one).stamped(), one);
        }
    }

    #[test]
    fn it_is_half_as_large_as_the_packet() {
        assert!(size_of::<Early>() <= 80, "{} bytes", size_of::<Early>());
    }
}
