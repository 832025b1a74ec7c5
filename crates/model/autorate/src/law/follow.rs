//! Sets the rate by what the full line was seen to carry.
//!
//! # References
//! - Goyal et al., "ABC: A Simple Explicit Congestion Controller for Wireless Networks", NSDI 2020, equation 1: the target rate
//!   `eta * mu(t) - mu(t)/delta * (x(t) - d_t)+` of a queue with capacity `mu` and delay `x`.
//!
//! # What we follow
//! While packets wait on the line it is full, so what it delivers is `mu`: no rate has to be typed in, and the first cut goes to
//! the right place. The second term empties the queue within about `delta`. Once it is empty the rate is `eta * mu` again at once.
//!
//! Delays are those of packets that have come through: what was let in since is not seen yet. It is known all the same (by
//! acknowledgements, and what they called for), so that the queue that is emptied is the one that what is under way will make, and growth
//! ends where that would make one on the line as it was last known. What arrives of it shows whether the line is wider.
//! For the uplink that is counted, not concluded, and alone decides: packets that come late of a line that had stopped, or
//! of a queue that has gone since, are no reason to go slow.
//!
//! # What is no queue
//! A delay says that the line is full only if the line is loaded and what is on it can make that delay. Otherwise the path has become
//! longer: another route, another satellite, a radio that slept. Three rules keep such delays from setting a rate:
//! - Fewer bytes than [`FEWEST_BYTES`] wait, as with keystrokes: nothing is decided, and a delay that stays meanwhile is the path's
//!   ([`Floor`]).
//! - The delay does not grow although less has come since, by as much as a queue of it would hold: the path is longer by it, and the rate is
//!   what the line delivered before ([`Reason::Moved`]).
//! - Delays without load vary: as much of one under load is the path's jitter ([`Floor`]).
//!
//! # How a load begins
//! TCP's slow start sends up to twice what the line carries until it meets a loss. A cut for that queue, and the drops of the shaper
//! that follow it, come on top of what TCP does by itself, and it is seconds before one download fills the line again. So more may wait while
//! a load is young ([`START`]), and less and less until it has settled ([`SETTLES`]). Pages end before, and jitter of a radio hardly
//! exceeds it.
//!
//! # What is forgotten
//! A rate is what a load was seen to get. Without a load it says less by the second: the line changes, and the beginning of the next
//! download would be cut to what a page or the last satellite had, which TCP takes seconds to mend. So after [`FORGOTTEN`] nothing is
//! shaped until a load makes a queue again.
//!
//! # Where we differ
//! ABC's router knows its capacity. We know it only while the line is full, so beyond it we grow while the shaper is in the
//! way and nothing waits: the next wait tells how far was right. Growth is fast, for it is TCP that decides how fast a line that is
//! wider than thought fills up, and the first wait brings the rate back to what the line carries. (By 1 a second instead of 30, a
//! download over a recorded LTE line has three quarters of the goodput and four fifths of the delay.)

use super::floor::Floor;
use super::variation::Variation;
use crate::decision::{Evidence, Reason};
use unbloat_params::defaults;
use unbloat_units::{Delta, Rate, Time};

defaults! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Params {
        /// Waits on the line up to this are left alone; up to 20 ms at most while it stands still.
        pub target: Delta = Delta::ms(20);
        /// In which a queue on the line is to be emptied; no faster than in two thirds of a round trip, which is what ABC's stability takes
        /// (theorem 3.1).
        pub drain: Delta = Delta::ms(400);
        /// Share of what the line carried that is used once it was full (eta).
        pub share: f64 = 0.98;
        /// Per second, while the shaper is in the way and nothing waits; slower where a round trip takes more than 40 ms.
        pub growth: f64 = 30.0;
        /// Over which the shaper counts as in the way.
        pub pressed: f64 = 0.3;
        /// Never below.
        pub floor: Rate = Rate::kbps(150);
    }
}

impl Params {
    /// Of the uplink: what waits there is what the shaper let through, so that a rate is right a round trip after it was
    /// set; less haste gives more of the line.
    pub fn up() -> Params {
        Params {
            target: Delta::ms(60),
            drain: Delta::ms(100),
            ..Params::default()
        }
    }
}

/// One direction.
#[derive(Clone, Debug)]
pub(crate) struct Follow {
    params: Params,
    /// None: nothing is known yet, so nothing is shaped.
    rate: Option<f64>,
    /// What the line carried when it was last full.
    line: f64,
    is_full: bool,
    ticked: Option<Time>,
    variation: Variation,
    floor: Floor,
    /// When the line was last in use.
    used: Option<Time>,
    /// When it was first full since nothing was shaped.
    began: Option<Time>,
}

/// What has to wait on the line before it can be full: two full packets. Fewer would take a line slower than the lowest rate that is set.
const FEWEST_BYTES: f64 = 3_000.0;
/// What may wait when a load begins, and how long it is until that has come down to the target.
const START: Delta = Delta::ms(80);
const SETTLES: Delta = Delta::secs(5);
/// A rate is forgotten once the shaper was not in the way and nothing waited for so long: longer than the outages of radios and satellites.
const FORGOTTEN: Delta = Delta::secs(5);
/// The rate never falls below this share of what the line carries, however long its queue is.
const LEAST: f64 = 0.1;
/// Growth ends where what is under way would wait for so many times the threshold.
const BOUND: f64 = 2.0;
/// The rate grows by no more than `e` to this within a round trip.
const A_ROUND_TRIP: f64 = 1.2;
/// The target is no more than this on a line that stands still: a queue is there to use what a line that varies gives all at once.
const STILL: Delta = Delta::ms(20);
/// A queue is emptied in no less than this share of a round trip.
const STABLE: f64 = 2.0 / 3.0;

impl Follow {
    pub(crate) fn new(params: Params) -> Follow {
        Follow {
            params,
            rate: None,
            line: 0.0,
            is_full: false,
            ticked: None,
            variation: Variation::default(),
            floor: Floor::default(),
            used: None,
            began: None,
        }
    }

    /// By how much the path is longer than the flows' least delays.
    pub(crate) fn longer(&self) -> Delta {
        self.floor.longer()
    }

    pub(crate) fn rate(&self) -> Option<Rate> {
        self.rate.map(Rate::from_bps_f64)
    }

    pub(crate) fn threshold(&self) -> Delta {
        let packet_ms = self.rate.map_or(0.0, |rate| 12_000_000.0 / rate);
        let more = (self.params.target - STILL).max(Delta::ZERO).as_secs();
        let target =
            self.params.target.min(STILL) + Delta::from_secs_f64(more * self.variation.share());
        let age = self
            .ticked
            .zip(self.began)
            .map(|(now, began)| now.since(began));
        let young = 1.0 - age.map_or(0.0, |age| age.as_secs() / SETTLES.as_secs());
        let start = Delta::from_secs_f64(START.as_secs() * young);
        target.max(start) + Delta::from_secs_f64(packet_ms / 1e3)
    }

    /// Looks at what was seen of late, delays without [`Follow::longer`]; why the rate changed, if it did.
    pub(crate) fn tick(
        &mut self,
        now: Time,
        seen: &Evidence,
        round_trip: Option<Delta>,
    ) -> Option<Reason> {
        let passed = self
            .ticked
            .replace(now)
            .map_or(0.0, |at| now.since(at).as_secs());
        let carried = seen.carried.as_bps_f64();
        let is_light = seen
            .delay
            .is_none_or(|wait| bytes_waiting(wait + self.longer(), seen) < FEWEST_BYTES);
        let used = self.used.get_or_insert(now);
        if !is_light || seen.load >= self.params.pressed {
            *used = now;
        } else if self.rate.is_some() && now.since(*used) > FORGOTTEN {
            (self.rate, self.is_full, self.began) = (None, false, None);
            return Some(Reason::Idle);
        }
        let wait = self.floor.see(now, seen.delay?, is_light);
        if wait > seen.threshold / 4 {
            self.variation.see(carried);
        }
        if wait > seen.threshold
            && let Some(excess) = excess(wait, seen)
        {
            if let Some(best) = self.floor.stands(wait, carried, passed) {
                self.is_full = false;
                self.set(self.rate?.max(best));
                return Some(Reason::Moved);
            }
            return (!is_light)
                .then(|| self.full(excess, seen, round_trip))
                .flatten();
        }
        self.floor.is_met();
        let rate = self.rate?;
        if std::mem::take(&mut self.is_full) && rate < self.line * self.params.share {
            self.set(self.line * self.params.share);
            return Some(Reason::Drained);
        }
        if seen.load < self.params.pressed {
            return None;
        }
        // Beyond the threshold, and still here: late, but not for a queue.
        let waits = match wait > seen.threshold {
            true => 0.0,
            false => wait.as_secs() / seen.threshold.as_secs(),
        };
        let headroom = 1.0 - waits.max(self.boldness(seen));
        if headroom <= 0.0 {
            return None;
        }
        let growth = self.growth(round_trip);
        self.set(rate * (growth * passed * headroom).exp());
        Some(Reason::Pressed)
    }

    /// What is under way as a share of what may be, if the line carries no more than what is known of it.
    fn boldness(&self, seen: &Evidence) -> f64 {
        let line = Rate::from_bps_f64(self.line.max(seen.carried.as_bps_f64()));
        let wait = seen.under_way.map_or(Delta::ZERO, |all| all.wait(line));
        wait.as_secs() / (seen.threshold.as_secs() * BOUND)
    }

    /// What was let through is only seen to wait a round trip later.
    fn growth(&self, round_trip: Option<Delta>) -> f64 {
        let per_second =
            round_trip.map_or(f64::MAX, |span| A_ROUND_TRIP / span.as_secs().max(1e-3));
        self.params.growth.min(per_second)
    }

    fn full(
        &mut self,
        excess: Delta,
        seen: &Evidence,
        round_trip: Option<Delta>,
    ) -> Option<Reason> {
        let carried = seen.carried.as_bps_f64();
        if carried <= 0.0 {
            return None;
        }
        (self.line, self.is_full) = (carried, true);
        self.began = self.began.or(self.ticked);
        let least = round_trip.unwrap_or(Delta::ZERO).as_secs() * STABLE;
        let drain = self.params.drain.as_secs().max(least);
        let drained = self.params.share - excess.as_secs() / drain;
        self.set(carried * drained.max(LEAST));
        Some(Reason::Full)
    }

    fn set(&mut self, rate: f64) {
        self.rate = Some(rate.max(self.params.floor.as_bps_f64()));
    }
}

/// What waits if packets come late by so much, as far as it is known to be under way.
fn bytes_waiting(wait: Delta, seen: &Evidence) -> f64 {
    let waiting = wait.as_secs() * seen.carried.as_bps_f64() / 8.0;
    let known = seen.under_way.map(|all| all.bytes as f64);
    known.map_or(waiting, |known| waiting.min(known))
}

/// By how much packets wait too long; none if what is known to be under way is too little for that: what came late met a pause, or a queue
/// that is gone.
fn excess(wait: Delta, seen: &Evidence) -> Option<Delta> {
    let coming = seen.under_way.map(|all| all.wait(seen.carried));
    match seen.under_way.zip(coming) {
        Some((all, coming)) if all.is_counted => {
            (coming > Delta::ZERO).then(|| (coming - seen.threshold).max(Delta::ZERO))
        }
        _ => Some(wait.max(coming.unwrap_or(wait)) - seen.threshold),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::UnderWay;

    fn seen(delay_ms: i64, carried_mbps: u64, load: f64) -> Evidence {
        Evidence {
            delay: Some(Delta::ms(delay_ms)),
            threshold: Delta::ms(15),
            carried: Rate::mbps(carried_mbps),
            load,
            under_way: None,
        }
    }

    fn at(ms: i64) -> Time {
        Time::from_ns(0) + Delta::ms(ms)
    }

    #[test]
    fn nothing_is_shaped_before_the_line_was_seen_full() {
        let mut law = Follow::new(Params::default());
        assert_eq!(law.tick(at(0), &seen(2, 30, 0.0), None), None);
        assert_eq!(law.rate(), None);
        assert_eq!(
            law.tick(at(50), &seen(30, 20, 0.0), None),
            Some(Reason::Full)
        );
        // 0.98 - 15/400 of 20 Mbit/s.
        assert_eq!(law.rate(), Some(Rate::kbps(18_850)));
    }

    #[test]
    fn it_returns_to_what_the_line_carried_once_its_queue_is_gone_and_then_grows() {
        let mut law = Follow::new(Params::default());
        law.tick(at(0), &seen(215, 20, 1.0), None);
        assert_eq!(law.rate(), Some(Rate::kbps(9_600)));
        assert_eq!(
            law.tick(at(50), &seen(3, 9, 1.0), None),
            Some(Reason::Drained)
        );
        assert_eq!(law.rate(), Some(Rate::kbps(19_600)));
        assert_eq!(
            law.tick(at(60), &seen(0, 19, 1.0), None),
            Some(Reason::Pressed)
        );
        let grown = law.rate().unwrap().as_bps_f64();
        assert!((grown / 19.6e6 - 0.3_f64.exp()).abs() < 1e-6);
    }

    fn with(bytes: u64, seen: Evidence) -> Evidence {
        let least = Delta::ms(40);
        let under_way = Some(UnderWay {
            bytes,
            is_counted: false,
            least,
        });
        Evidence { under_way, ..seen }
    }

    #[test]
    fn what_is_under_way_counts_before_it_is_seen_to_wait() {
        let mut law = Follow::new(Params::default());
        // 325 kB at 20 Mbit/s are 130 ms, 90 more than the round trip, 75 above the threshold.
        law.tick(at(0), &with(325_000, seen(25, 20, 1.0)), None);
        assert_eq!(law.rate(), Some(Rate::kbps(15_850)));
    }

    #[test]
    fn growth_ends_where_a_line_that_is_no_wider_would_make_it_wait() {
        let mut law = Follow::new(Params::default());
        law.tick(at(0), &seen(215, 20, 1.0), None);
        law.tick(at(50), &seen(3, 9, 1.0), None);
        // 70 ms at what is known, 30 beyond the round trip: twice the threshold.
        let bold = with(175_000, seen(0, 19, 1.0));
        assert_eq!(law.tick(at(60), &bold, None), None);
        let wider = with(175_000, seen(0, 30, 1.0));
        assert_eq!(law.tick(at(70), &wider, None), Some(Reason::Pressed));
    }

    #[test]
    fn a_rate_that_nobody_uses_stays_for_seconds_and_is_forgotten() {
        let mut law = Follow::new(Params::default());
        law.tick(at(0), &seen(90, 20, 1.0), None);
        law.tick(at(50), &seen(3, 9, 0.2), None);
        let rate = law.rate();
        assert_eq!(law.tick(at(4_000), &seen(0, 1, 0.1), None), None);
        assert_eq!(law.rate(), rate);
        assert_eq!(
            law.tick(at(9_000), &seen(0, 1, 0.1), None),
            Some(Reason::Idle)
        );
        assert_eq!(law.rate(), None);
    }

    #[test]
    fn on_a_long_path_it_waits_for_what_its_growth_does() {
        let mut law = Follow::new(Params::default());
        law.tick(at(0), &seen(215, 20, 1.0), None);
        law.tick(at(50), &seen(3, 9, 1.0), None);
        let before = law.rate().unwrap().as_bps_f64();
        law.tick(at(650), &seen(0, 19, 1.0), Some(Delta::ms(600)));
        let grown = law.rate().unwrap().as_bps_f64() / before;
        assert!((grown - 1.2_f64.exp()).abs() < 1e-6, "{grown}");
    }

    fn counted(bytes: u64, seen: Evidence) -> Evidence {
        let mut seen = with(bytes, seen);
        if let Some(all) = &mut seen.under_way {
            all.is_counted = true;
        }
        seen
    }

    #[test]
    fn packets_that_met_a_pause_are_no_reason_to_go_slow_where_what_is_under_way_is_counted() {
        let mut law = Follow::new(Params::up());
        // 70 kB at 20 Mbit/s come within the round trip; 125 kB wait for 10 ms, 325 kB for 90.
        assert_eq!(
            law.tick(at(0), &counted(70_000, seen(300, 20, 1.0)), None),
            None
        );
        law.tick(at(20), &counted(125_000, seen(300, 20, 1.0)), None);
        assert_eq!(law.rate(), Some(Rate::kbps(19_600)));
        law.tick(at(40), &counted(325_000, seen(300, 20, 1.0)), None);
        // 0.98 - 75/100 of 20 Mbit/s.
        assert_eq!(law.rate(), Some(Rate::kbps(4_600)));
    }

    #[test]
    fn a_queue_is_emptied_no_faster_than_the_round_trip_allows() {
        let mut law = Follow::new(Params::up());
        let long = Some(Delta::ms(600));
        law.tick(at(0), &counted(325_000, seen(300, 20, 1.0)), long);
        // 0.98 - 75/400.
        assert_eq!(law.rate(), Some(Rate::kbps(15_850)));
    }

    #[test]
    fn more_may_wait_while_a_load_is_young() {
        let mut law = Follow::new(Params::default());
        let full = |one: &mut Follow, ms| {
            one.tick(at(ms), &seen(90, 20, 1.0), None);
            one.threshold().as_ms().round() as i64
        };
        // Besides half of a millisecond for a packet.
        assert_eq!(law.threshold(), START);
        assert_eq!(full(&mut law, 0), 81);
        assert_eq!(full(&mut law, 2_500), 41);
        assert_eq!(full(&mut law, 5_000), 21);
        assert_eq!(
            law.tick(at(11_000), &seen(0, 1, 0.1), None),
            Some(Reason::Idle)
        );
        assert_eq!(law.threshold(), START, "the next load is another one");
    }

    #[test]
    fn a_line_that_stands_still_needs_less_of_a_queue() {
        let mut law = Follow::new(Params::up());
        let packet = Delta::us(600);
        law.tick(at(0), &seen(16, 20, 1.0), None);
        assert!(law.threshold() > Delta::ms(60));
        (0..2_000).for_each(|k| {
            law.tick(at(k * 20), &seen(16, 20, 1.0), None);
        });
        assert!(law.threshold() < Delta::ms(20) + packet * 2);
        assert!(law.threshold() > Delta::ms(20));
    }
}
