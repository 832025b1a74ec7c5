//! The timestamp clock of one host as one flow sees it: positions in ticks, and the tick's length as
//! early as it can be known.

use unbloat_units::{Delta, Seq, Time};

/// Ticks that hosts use; see `user::clock`. They lie a factor of 2.5 or more apart, so half a second
/// tells them apart in spite of a growing queue.
const COMMON_NS: [i64; 5] = [1_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000];

#[derive(Clone, Debug, Default)]
pub(super) struct HostClock {
    /// When the first timestamp came that tells the tick, and its position.
    first: Option<Time>,
    begin: i64,
    last: Seq,
    ticks: i64,
    tick: Option<Delta>,
    /// When what passed is next held against the tick.
    next_look: Delta,
    /// The first timestamp was fresh when it came.
    is_fresh: bool,
}

impl HostClock {
    /// Before this no tick is told.
    const SOON: Delta = Delta::ms(500);
    /// Of the measured tick over the true one. A delay that grows makes it larger.
    const NEAR: std::ops::Range<f64> = 0.62..1.6;

    /// The position of a timestamp that the other host echoes. The first one may be old: after silence hosts
    /// echo what came last. So the clock begins with the first that changes.
    #[inline]
    pub(super) fn echo_position(&mut self, raw: Seq, now: Time) -> i64 {
        let position = self.position(raw, now);
        if !self.is_fresh && position > 0 {
            self.is_fresh = true;
            self.tick = None;
            self.begin = position;
            self.first = Some(now);
            self.next_look = Self::SOON;
        }
        position
    }

    /// The position of a timestamp that its own host sends now.
    #[inline]
    pub(super) fn own_position(&mut self, raw: Seq, now: Time) -> i64 {
        self.is_fresh = true;
        self.position(raw, now)
    }

    /// Takes in a timestamp and returns its position, in ticks since the first.
    #[inline]
    fn position(&mut self, raw: Seq, now: Time) -> i64 {
        let Some(first) = self.first else {
            self.first = Some(now);
            self.last = raw;
            self.next_look = Self::SOON;
            return 0;
        };
        let ahead = i64::from(raw.since(self.last));
        if ahead <= 0 {
            return self.ticks + ahead;
        }
        self.last = raw;
        self.ticks += ahead;
        let span = now.since_bounded(first);
        if span >= self.next_look {
            self.look(span);
        }
        self.ticks
    }

    /// Finds the tick, or finds that it was another: a queue that grew while the flow began makes
    /// ticks look longer than they are.
    #[cold]
    fn look(&mut self, span: Delta) {
        let measured = span.as_ns() as f64 / (self.ticks - self.begin) as f64;
        let agrees = |ns: &i64| Self::NEAR.contains(&(measured / *ns as f64));
        if !self.tick.is_some_and(|tick| agrees(&tick.as_ns())) {
            self.tick = COMMON_NS.into_iter().find(agrees).map(Delta::ns);
        }
        self.next_look = match self.tick {
            Some(_) => span * 2,
            None => span + Self::SOON / 10,
        };
    }

    /// How long a tick is, as far as is known now; it may turn out to be another.
    pub(super) fn tick(&self) -> Option<Delta> {
        self.tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(tick_us: i64, grows: f64) -> HostClock {
        let mut clock = HostClock::default();
        for ms in 0..1_000 {
            let late_ms = (ms as f64 * grows) as i64;
            let raw = (ms * 1000 / tick_us) as u32;
            let now = Time::default() + Delta::ms(ms + late_ms);
            clock.position(Seq::new(raw), now);
        }
        clock
    }

    #[test]
    fn a_second_tells_the_tick_though_a_queue_grows() {
        assert_eq!(clock(1_000, 0.0).tick(), Some(Delta::ms(1)));
        assert_eq!(clock(1_000, 0.5).tick(), Some(Delta::ms(1)));
        assert_eq!(clock(10_000, 0.3).tick(), Some(Delta::ms(10)));
        assert_eq!(clock(1, 0.0).tick(), Some(Delta::us(1)));
    }

    #[test]
    fn a_clock_that_agrees_with_no_tick_tells_nothing() {
        assert_eq!(clock(400, 0.0).tick(), None);
    }

    #[test]
    fn an_echo_from_before_a_silence_tells_no_tick() {
        let mut clock = HostClock::default();
        let at = |ms: i64| Time::default() + Delta::ms(ms);
        // Nine seconds old; then a host of 250 Hz answers for a second.
        clock.echo_position(Seq::new(1_000), at(0));
        for ms in 10..1_000 {
            clock.echo_position(Seq::new(10_000 + ms as u32 / 4), at(ms));
        }
        assert_eq!(clock.tick(), Some(Delta::ms(4)));
    }

    #[test]
    fn positions_go_on_over_the_end_of_the_number() {
        let mut clock = HostClock::default();
        let near = Seq::new(u32::MAX - 5);
        assert_eq!(clock.position(near, Time::default()), 0);
        assert_eq!(clock.position(near + 10, Time::default()), 10);
        assert_eq!(clock.position(near + 8, Time::default()), 8);
    }
}
