//! The states of an LTE radio: asleep, being promoted, awake, dozing.
//!
//! # References
//! 3GPP TS 36.331 (RRC), TS 36.321 section 5.7 (DRX), TS 36.304 section 7 (paging). J. Huang et al.,
//! MobiSys 2012, Figure 1 and Table 3 (defaults); SIGCOMM 2013, section 4.2 (promotion seen in traces).
//!
//! # Where we differ
//! 1. A state follows from when packets passed here. What a queue behind this element still sends
//!    does not keep the phone awake.
//! 2. A phone that dozes sends at once; in the downlink a packet waits for the next on-duration.
//! 3. A phone that sends while it is being paged is promoted from then on; packets that wait for the
//!    page keep their time.

use super::uniform_between;
use fastrand::Rng;
use unbloat_params::range::{PERIOD, SPAN};
use unbloat_params::{defaults, params};
use unbloat_units::{Delta, Direction, Time};

defaults! {
    /// LTE in the study of 2012: tail 11.58 s, paging each 1.28 s.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        pub promotion: Promotion = Promotion::Between(PROMOTION, PROMOTION);
        /// Silence after which a connected phone falls idle.
        pub tail: Delta = Delta::ms(11_580);
        /// Between occasions at which an idle phone can be paged for a downlink packet.
        pub paging: Delta = Delta::ms(1_280);
        /// None for a phone that listens all the time while connected.
        pub drx: Option<Drx> = Some(Drx::default());
    }
}

/// How long a radio takes from idle to connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promotion {
    /// Uniform between these.
    Between(Delta, Delta),
    /// Minimum, quartiles and maximum; uniform between two neighbours.
    Quartiles([Delta; 5]),
}

impl Promotion {
    fn draw(self, rng: &mut Rng) -> Delta {
        let (shortest, longest) = match self {
            Promotion::Between(shortest, longest) => (shortest, longest),
            Promotion::Quartiles(bounds) => {
                let quarter = rng.usize(0..4);
                (bounds[quarter], bounds[quarter + 1])
            }
        };
        uniform_between(shortest, longest, rng)
    }
}

params! {
    /// How a connected phone dozes (DRX).
    ///
    /// Dozes after 100 ms, listens for 1 ms in each 20, after another 20 ms for 1 ms in each 40.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Drx: Settings {
        /// Silence after which it dozes.
        pub inactivity: Delta = Delta::ms(100) => within(SPAN);
        /// How long it listens at the start of each cycle.
        pub on: Delta = Delta::ms(1) => within(PERIOD);
        /// The short cycle, and how long it dozes by that one.
        pub short: Delta = Delta::ms(20) => within(PERIOD);
        pub short_for: Delta = Delta::ms(20) => within(SPAN);
        /// The long cycle, until the tail is over.
        pub long: Delta = Delta::ms(40) => within(PERIOD);
    }
}

/// Promotion of LTE in the study of 2012 (Table 3).
pub const PROMOTION: Delta = Delta::ms(260);

/// The radio of one phone, for both directions.
#[derive(Clone, Debug)]
pub struct Radio {
    params: Params,
    /// When the last packet passed; it may lie ahead, at the end of a promotion.
    active_at: Time,
    /// Since when it has been or will be idle, unless a packet comes.
    idle_from: Time,
    /// When the current promotion begins and ends.
    promotion: (Time, Time),
    /// Since when and until when it was connected, before that promotion.
    before: Vec<(Time, Time)>,
    rng: Rng,
}

/// What a radio did over some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// From the end of each promotion to the end of the tail behind its last packet.
    pub connected: Delta,
    /// That ended in this time.
    pub promotions: u64,
}

impl Radio {
    /// A radio that has been idle until `start`.
    pub fn new(params: Params, start: Time, rng: Rng) -> Radio {
        Radio {
            params,
            active_at: start - params.tail,
            idle_from: start,
            promotion: (start, start),
            before: Vec::new(),
            rng,
        }
    }

    /// When a packet that comes at `now` can pass.
    pub fn wake(&mut self, now: Time, direction: Direction) -> Time {
        let passes = if now < self.promotion.1 {
            self.join(now, direction)
        } else if now >= self.idle_from {
            self.promote(now, direction)
        } else {
            self.listens_at(now, direction)
        };
        self.active_at = self.active_at.max(passes);
        self.idle_from = self.active_at + self.params.tail;
        passes
    }

    /// What it does between two times, if no packet comes before the later one.
    pub fn used(&self, from: Time, until: Time) -> Use {
        let now = (self.promotion.1, self.idle_from);
        let mut sum = Use::default();
        for (begins, ends) in self.before.iter().copied().chain([now]) {
            let here = ends.min(until) - begins.max(from);
            sum.connected += here.max(Delta::ZERO);
            // A radio that was never woken has no promotion, only where one would begin.
            let is_promoted = begins < ends && (from..until).contains(&begins);
            sum.promotions += u64::from(is_promoted);
        }
        sum
    }

    /// A packet that comes while the radio is on its way to wake.
    fn join(&mut self, now: Time, direction: Direction) -> Time {
        let (begins, ends) = self.promotion;
        if direction == Direction::Up && now < begins {
            self.promotion = (now, now + (ends - begins));
            self.active_at = self.promotion.1;
        }
        self.promotion.1
    }

    fn promote(&mut self, now: Time, direction: Direction) -> Time {
        if self.promotion.1 < self.idle_from {
            self.before.push((self.promotion.1, self.idle_from));
        }
        let begins = match direction {
            Direction::Up => now,
            Direction::Down => next_multiple(self.idle_from, now, self.params.paging),
        };
        let ends = begins + self.params.promotion.draw(&mut self.rng);
        self.promotion = (begins, ends);
        ends
    }

    /// A connected radio.
    fn listens_at(&self, now: Time, direction: Direction) -> Time {
        let Some(drx) = self.params.drx.filter(|_| direction == Direction::Down) else {
            return now;
        };
        let dozes_from = self.active_at + drx.inactivity;
        let long_from = dozes_from + drx.short_for;
        if now < dozes_from {
            now
        } else if now < long_from {
            drx.next_on(dozes_from, now, drx.short).min(long_from)
        } else {
            drx.next_on(long_from, now, drx.long)
        }
    }
}

impl Drx {
    /// The next time at which the phone listens, in cycles that begin at `from`.
    fn next_on(&self, from: Time, now: Time, cycle: Delta) -> Time {
        let next = next_multiple(from, now, cycle);
        let begun = next - cycle;
        if next > now && now < begun + self.on {
            now
        } else {
            next
        }
    }
}

/// The first of `from`, `from + cycle`, ... at or after `now`.
fn next_multiple(from: Time, now: Time, cycle: Delta) -> Time {
    let cycle_ns = cycle.as_ns().max(1);
    let since = (now - from).as_ns().max(0);
    let cycles = since / cycle_ns + i64::from(since % cycle_ns > 0);
    from + Delta::ns(cycles.saturating_mul(cycle_ns))
}

#[cfg(test)]
mod tests {
    use super::Direction::{Down, Up};
    use super::*;
    use crate::testing::at_ms;

    fn radio() -> Radio {
        Radio::new(Params::default(), at_ms(0), Rng::with_seed(0))
    }

    /// A radio whose last packet passed at 1 s.
    fn awake() -> Radio {
        let mut radio = radio();
        radio.wake(at_ms(740), Up);
        radio
    }

    #[test]
    fn an_idle_phone_sends_after_promotion_and_receives_after_a_page_too() {
        assert_eq!(radio().wake(at_ms(100), Up), at_ms(360));
        assert_eq!(radio().wake(at_ms(100), Down), at_ms(1_280 + 260));
        // Occasions are counted from when it fell idle.
        assert_eq!(radio().wake(at_ms(2_560), Down), at_ms(2_560 + 260));
    }

    #[test]
    fn packets_during_a_promotion_pass_at_its_end() {
        let mut radio = radio();
        assert_eq!(radio.wake(at_ms(100), Up), at_ms(360));
        assert_eq!(radio.wake(at_ms(200), Down), at_ms(360));
        assert_eq!(radio.wake(at_ms(359), Up), at_ms(360));
        assert_eq!(radio.wake(at_ms(360), Up), at_ms(360));
    }

    #[test]
    fn a_phone_that_sends_before_its_page_is_promoted_at_once() {
        let mut radio = radio();
        assert_eq!(radio.wake(at_ms(100), Down), at_ms(1_540));
        assert_eq!(radio.wake(at_ms(200), Up), at_ms(460));
        assert_eq!(radio.wake(at_ms(300), Down), at_ms(460));
    }

    #[test]
    fn the_tail_ends_in_idle_and_every_packet_puts_it_off() {
        let tail = 11_580;
        assert_eq!(
            awake().wake(at_ms(1_000 + tail - 1), Up),
            at_ms(1_000 + tail - 1)
        );
        assert_eq!(
            awake().wake(at_ms(1_000 + tail), Up),
            at_ms(1_000 + tail + 260)
        );
        let mut radio = awake();
        radio.wake(at_ms(9_000), Up);
        assert_eq!(
            radio.wake(at_ms(9_000 + tail - 1), Up),
            at_ms(9_000 + tail - 1)
        );
    }

    #[test]
    fn it_is_connected_from_the_end_of_a_promotion_to_the_end_of_the_tail() {
        let used = |radio: &Radio, from, until| {
            let used = radio.used(at_ms(from), at_ms(until));
            (used.connected.as_ms(), used.promotions)
        };
        assert_eq!(used(&radio(), 0, 60_000), (0.0, 0));
        // Connected from 1 s, idle from 12.58 s; again from 20.26 s to 31.84 s.
        let mut radio = awake();
        assert_eq!(used(&radio, 0, 60_000), (11_580.0, 1));
        radio.wake(at_ms(20_000), Up);
        for (from, until, ms, promotions) in [
            (0, 60_000, 23_160.0, 2),
            (0, 2_000, 1_000.0, 1),
            (2_000, 21_000, 10_580.0 + 740.0, 1),
            (13_000, 20_000, 0.0, 0),
            (25_000, 60_000, 6_840.0, 0),
        ] {
            assert_eq!(used(&radio, from, until), (ms, promotions), "{from}");
        }
    }

    #[test]
    fn a_dozing_phone_hears_at_its_next_on_duration_and_sends_at_once() {
        // Awake until 1100, one short cycle until 1120, long ones from there: 1120, 1160, 1200, ...
        for (now, hears) in [
            (1_000, 1_000),
            (1_099, 1_099),
            (1_100, 1_100),
            (1_101, 1_120),
            (1_119, 1_120),
            (1_120, 1_120),
            (1_121, 1_160),
            (1_160, 1_160),
            (1_161, 1_200),
            (5_130, 5_160),
        ] {
            assert_eq!(awake().wake(at_ms(now), Down), at_ms(hears), "{now} ms");
            assert_eq!(awake().wake(at_ms(now), Up), at_ms(now));
        }
        let within = Time::from_ns(1_120_999_999);
        assert_eq!(awake().wake(within, Down), within, "on for 1 ms");
    }

    #[test]
    fn promotions_are_drawn_between_their_bounds() {
        let params = Params {
            promotion: Promotion::Between(Delta::ms(300), Delta::ms(500)),
            ..Params::default()
        };
        let mut radio = Radio::new(params, at_ms(0), Rng::with_seed(2));
        for round in 1..200 {
            let now = at_ms(round * 20_000);
            let wait = radio.wake(now, Up) - now;
            assert!((Delta::ms(300)..=Delta::ms(500)).contains(&wait));
        }
    }

    #[test]
    fn a_quarter_of_promotions_lies_between_each_two_quartiles() {
        let bounds = [200, 319, 435, 558, 900].map(Delta::ms);
        let mut rng = Rng::with_seed(3);
        let mut counts = [0_u32; 4];
        for _ in 0..4_000 {
            let promotion = Promotion::Quartiles(bounds).draw(&mut rng);
            let quarter = bounds[1..4].partition_point(|bound| *bound <= promotion);
            counts[quarter] += 1;
        }
        assert!(
            counts.iter().all(|count| (920..1_080).contains(count)),
            "{counts:?}"
        );
    }
}
