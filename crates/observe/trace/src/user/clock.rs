//! Timestamp clocks of hosts (RFC 7323 §5.4): how long a tick is, and when a packet was sent.
//!
//! # References
//! §6.1, Formula 3, of Huang et al. 2013; Sen, "Estimates of the regression coefficient based on
//! Kendall's tau" (1968), for the slope; Moon, Skelly and Towsley, "Estimation and removal of clock
//! skew from network delay measurements" (INFOCOM 1999), for why the lower edge of delays is used.
//!
//! # Where we differ
//! 1. Formula 3 gives ticks per second, while §4.2 and Formula 2 multiply with seconds per tick. A
//!    tick here is seconds per tick throughout.
//! 2. The paper divides two packets' distances. A queue on the way moves either of them, so we take
//!    the least delayed packet of each of up to 32 blocks of time, and the median slope between
//!    blocks that lie at least half the window apart: less than a quarter of the blocks may be
//!    queued without any effect.
//! 3. A value that agrees with a tick that hosts use is taken for exactly that one.

use super::{Tick, User};
use unbloat_units::{Delta, Seq, Time};

/// Ticks that hosts use: Linux with `tcp_usec_ts`, most of today's hosts, Linux at 250 Hz, Linux at
/// 100 Hz and old Windows, very old Windows.
pub(super) const COMMON: [Delta; 5] = [
    Delta::us(1),
    Delta::ms(1),
    Delta::ms(4),
    Delta::ms(10),
    Delta::ms(100),
];

/// An estimate with a larger bound says too little to be used: a clock of 1,024 Hz is 2.4 % off.
pub(super) const USABLE: f64 = 0.05;

/// A measured tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) raw_ns: f64,
    /// Bound on the relative error: one tick and the variation of the least delays, over the window;
    /// or the disagreement of slopes, where that is more.
    pub(crate) error: f64,
}

impl Estimate {
    /// From the first and the last packet, when nothing is known of those between; it counts only
    /// if it agrees with a common tick, because the bound rests on an assumption.
    pub(crate) fn of_ends(span: Delta, ticks: u32) -> Option<Estimate> {
        /// How much delays of a small flow may differ.
        const VARIATION: Delta = Delta::ms(100);
        let span_ns = span.as_ns() as f64;
        let raw_ns = span_ns / f64::from(ticks);
        let error = (VARIATION.as_ns() as f64 + raw_ns) / span_ns;
        let estimate = Estimate { raw_ns, error };
        estimate.snapped().map(|_| estimate)
    }

    fn snapped(self) -> Option<Delta> {
        let agrees =
            |common: &Delta| (self.raw_ns / common.as_ns() as f64 - 1.0).abs() <= self.error;
        (self.error <= USABLE).then(|| COMMON.into_iter().find(agrees))?
    }

    /// The tick to work with, if the bound allows.
    pub(crate) fn tick(self) -> Option<Tick> {
        let raw = Delta::ns(self.raw_ns.round() as i64);
        let usable = self.error <= USABLE && raw > Delta::ZERO;
        usable.then(|| Tick {
            value: self.snapped().unwrap_or(raw),
            error: self.error,
        })
    }
}

/// A point on the way of a clock: ticks and nanoseconds since its first packet.
#[derive(Clone, Copy, Debug)]
struct Point {
    ticks: i64,
    ns: i64,
}

impl Point {
    fn residual(self, slope: f64) -> f64 {
        self.ns as f64 - slope * self.ticks as f64
    }
}

/// Estimates the tick of one host from the packets of one flow. TSvals begin anywhere, so points
/// of different flows do not mix.
#[derive(Clone, Debug, Default)]
pub(crate) struct TickEstimator {
    origin: Option<(Time, Seq)>,
    last: Seq,
    ticks: i64,
    /// The least delayed packet of each block of `width`.
    blocks: Vec<Point>,
    width: i64,
    block_end: i64,
    /// Nanoseconds per tick so far, and what the last block's packet is late by it.
    slope: f64,
    least: f64,
}

impl TickEstimator {
    const BLOCKS: usize = 32;
    const FEWEST: usize = 8;
    const WIDTH: Delta = Delta::ms(100);

    pub(crate) fn is_empty(&self) -> bool {
        self.origin.is_none()
    }

    /// Begins with a packet that may be late in its tick, as any single one may.
    pub(crate) fn begin(&mut self, now: Time, tsval: Seq) {
        self.push(now, tsval);
        self.begin_block(Point { ticks: 0, ns: 0 });
    }

    /// Takes in a packet of the host. Only the first one of a tick tells when the tick began.
    #[inline]
    pub(crate) fn push(&mut self, now: Time, tsval: Seq) {
        let Some((start, _)) = self.origin else {
            self.origin = Some((now, tsval));
            self.last = tsval;
            self.width = Self::WIDTH.as_ns();
            return;
        };
        let ahead = tsval.since(self.last);
        if ahead <= 0 {
            return;
        }
        self.last = tsval;
        self.ticks += i64::from(ahead);
        let point = Point {
            ticks: self.ticks,
            ns: now.since_bounded(start).as_ns(),
        };
        let residual = point.residual(self.slope);
        match self.blocks.last_mut() {
            Some(block) if point.ns < self.block_end => {
                if residual < self.least {
                    self.least = residual;
                    *block = point;
                }
            }
            // Also where the clock of the capture has stepped back behind the origin.
            _ => self.begin_block(point),
        }
    }

    fn begin_block(&mut self, point: Point) {
        if self.blocks.len() == Self::BLOCKS {
            self.merge_blocks();
        }
        self.blocks.push(point);
        let (first, last) = (self.blocks[0], point);
        if last.ticks > first.ticks {
            self.slope = (last.ns - first.ns) as f64 / (last.ticks - first.ticks) as f64;
        }
        self.least = point.residual(self.slope);
        self.block_end = (point.ns.div_euclid(self.width) + 1).saturating_mul(self.width);
    }

    fn merge_blocks(&mut self) {
        let slope = self.slope;
        let better = |pair: &[Point]| {
            let least = pair
                .iter()
                .min_by(|a, b| a.residual(slope).total_cmp(&b.residual(slope)));
            *least.expect("chunks are not empty")
        };
        self.blocks = self.blocks.chunks(2).map(better).collect();
        self.width = self.width.saturating_mul(2);
    }

    /// From the first to the last block.
    pub(crate) fn window(&self) -> Delta {
        let ends = self.blocks.first().zip(self.blocks.last());
        ends.map_or(Delta::ZERO, |(a, b)| Delta::ns(b.ns - a.ns))
    }

    /// The tick over the packets so far.
    pub(crate) fn estimate(&self) -> Option<Estimate> {
        let window = self.window().as_ns();
        if self.blocks.len() < Self::FEWEST || window <= 0 {
            return None;
        }
        let (raw_ns, spread) = self.slope(window / 2)?;
        let mut residuals: Vec<f64> = self.blocks.iter().map(|p| p.residual(raw_ns)).collect();
        residuals.sort_unstable_by(f64::total_cmp);
        let tenth = residuals.len() / 10;
        let variation = residuals[residuals.len() - 1 - tenth] - residuals[tenth];
        // A queue that builds up looks like a slower clock: then slopes disagree with each other.
        let error = ((variation + raw_ns) / window as f64).max(2.0 * spread / raw_ns);
        (raw_ns > 0.0).then_some(Estimate { raw_ns, error })
    }

    /// The median slope between blocks that lie `apart`, and from the tenth to the ninetieth
    /// percentile.
    fn slope(&self, apart: i64) -> Option<(f64, f64)> {
        let slope = |a: &Point, b: &Point| (b.ns - a.ns) as f64 / (b.ticks - a.ticks).max(1) as f64;
        let mut slopes = Vec::with_capacity(Self::BLOCKS * Self::BLOCKS / 4);
        for (i, a) in self.blocks.iter().enumerate() {
            let far = self.blocks[i + 1..].iter().filter(|b| b.ns - a.ns >= apart);
            slopes.extend(far.map(|b| slope(a, b)));
        }
        slopes.sort_unstable_by(f64::total_cmp);
        let at = |share: usize| slopes.get(slopes.len() * share / 100).copied();
        Some((at(50)?, at(90)? - at(10)?))
    }

    /// A clock of this tick that knows the least delay of the packets so far.
    pub(crate) fn clock(&self, tick: Delta) -> Option<Clock> {
        let (start, first) = self.origin?;
        let late = |p: &Point| p.ns - tick.as_ns().saturating_mul(p.ticks);
        let least = self.blocks.iter().map(late).min()?;
        let recent = self.blocks.last()?.ticks;
        Some(Clock {
            tick,
            reference: first + recent as u32,
            begins: start + Delta::ns(least) + tick * recent,
        })
    }
}

/// When the ticks of a host begin, by the monitor's clock and as if every packet had the least
/// delay from the host to the monitor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Clock {
    pub(crate) tick: Delta,
    reference: Seq,
    begins: Time,
}

impl Clock {
    /// When a packet that came at `now` would have come with the least delay.
    ///
    /// The host sent it within the tick that it states. What lies beyond that tick's end was
    /// delay; within the tick, the monitor's clock is the finer one. So the error is that of the
    /// delay or one tick, whichever is less, while the paper's G(TS2-TS1) is always off by up to a
    /// tick.
    #[inline]
    pub(crate) fn emitted(&self, now: Time, tsval: Seq) -> Time {
        let begins = self.begins + self.tick * i64::from(tsval.since(self.reference));
        now.clamp(begins, begins + self.tick)
    }
}

/// Follows the least delay, which also drifts when the tick is not exactly what it is taken for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockTracker {
    clock: Clock,
    turned: Time,
    /// Least within the current span, and within the one before it.
    least: Time,
    before: Time,
}

impl ClockTracker {
    /// 50 ppm, the worst of common oscillators, drift 0.2 ms in this time.
    const SPAN: Delta = Delta::secs(4);

    pub(crate) fn new(clock: Clock, now: Time) -> ClockTracker {
        ClockTracker {
            clock,
            turned: now,
            least: clock.begins,
            before: clock.begins,
        }
    }

    /// A clock of which nothing is known but its tick.
    pub(crate) fn beginning(tick: Delta, now: Time, tsval: Seq) -> ClockTracker {
        let clock = Clock {
            tick,
            reference: tsval,
            begins: now,
        };
        ClockTracker::new(clock, now)
    }

    #[inline]
    pub(crate) fn on_packet(&mut self, now: Time, tsval: Seq) -> Clock {
        let ticks = i64::from(tsval.since(self.clock.reference));
        if now.since(self.turned) > Self::SPAN {
            let ahead = self.clock.tick * ticks;
            *self = ClockTracker {
                clock: Clock {
                    reference: tsval,
                    ..self.clock
                },
                turned: now,
                least: now,
                before: self.least + ahead,
            };
        } else {
            self.least = self.least.min(now - self.clock.tick * ticks);
        }
        self.clock.begins = self.least.min(self.before);
        self.clock
    }

    pub(crate) fn tick(&self) -> Delta {
        self.clock.tick
    }
}

impl User {
    /// Keeps the best tick that any of the client's flows gave.
    pub(crate) fn offer_tick(&mut self, tick: Tick) {
        if self.tick.is_none_or(|known| tick.error < known.error) {
            self.tick = Some(tick);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets every `gap` for `span` from a host whose tick is `tick_ns`, delayed by
    /// `delay(seconds)` in seconds; TSval begins near its wrap.
    fn estimator(
        tick_ns: f64,
        gap_us: i64,
        span: f64,
        delay: impl Fn(f64) -> f64,
    ) -> TickEstimator {
        let mut estimator = TickEstimator::default();
        let mut i = 0;
        while (i * gap_us) as f64 / 1e6 <= span {
            let sent = (i * gap_us) as f64 / 1e6 + 0.000_123;
            let tsval = Seq::new(u32::MAX - 50) + (sent * 1e9 / tick_ns) as u32;
            let now = Time::from_ns(((sent + delay(sent)) * 1e9) as i64);
            estimator.push(now, tsval);
            i += 1;
        }
        estimator
    }

    fn noise(s: f64) -> f64 {
        ((s * 7919.0).sin() * 43_758.545).fract().abs()
    }

    #[test]
    fn every_common_tick_is_found_within_a_thousandth_in_three_seconds() {
        for tick_ns in [1e3, 1e6, 4e6, 10e6] {
            let jitter = |s| 0.02 + 0.008 * noise(s);
            let estimate = estimator(tick_ns, 2400, 3.05, jitter).estimate().unwrap();
            let off = (estimate.raw_ns / tick_ns - 1.0).abs();
            assert!(
                off < 1e-3 && off <= estimate.error,
                "{tick_ns}: {estimate:?}"
            );
            assert_eq!(estimate.tick().unwrap().value.as_ns() as f64, tick_ns);
        }
    }

    #[test]
    fn a_queue_that_comes_and_goes_does_not_move_it() {
        let queue = |s: f64| {
            if (1.0..1.5).contains(&s) {
                0.300
            } else {
                0.020
            }
        };
        let estimate = estimator(1e6, 1000, 3.2, queue).estimate().unwrap();
        assert!((estimate.raw_ns / 1e6 - 1.0).abs() < 1e-3, "{estimate:?}");
    }

    #[test]
    fn a_queue_that_builds_up_widens_the_bound() {
        let queue = |s: f64| 0.1 * (s - 2.0).clamp(0.0, 1.0);
        let estimate = estimator(1e6, 1000, 4.0, queue).estimate().unwrap();
        assert!(
            (estimate.raw_ns / 1e6 - 1.0).abs() <= estimate.error,
            "{estimate:?}"
        );
        assert!(estimate.error > 0.01);
    }

    #[test]
    fn a_long_window_needs_no_more_memory_and_is_as_exact() {
        let estimator = estimator(10e6, 9000, 300.0, |s| 0.02 + 0.01 * noise(s));
        assert!(estimator.blocks.len() <= TickEstimator::BLOCKS);
        let estimate = estimator.estimate().unwrap();
        assert!((estimate.raw_ns / 10e6 - 1.0).abs() < 1e-4, "{estimate:?}");
    }

    #[test]
    fn an_uncommon_tick_is_left_as_measured() {
        let estimate = estimator(1e9 / 1024.0, 700, 3.2, |_| 0.02)
            .estimate()
            .unwrap();
        let tick = estimate.tick().unwrap();
        assert!((tick.value.as_ns() - 976_562).abs() < 300, "{tick:?}");
    }

    #[test]
    fn the_ends_alone_tell_a_common_tick_or_nothing() {
        let ends = |ms, ticks| Estimate::of_ends(Delta::ms(ms), ticks).and_then(Estimate::tick);
        assert_eq!(ends(5_020, 502).unwrap().value, Delta::ms(10));
        assert_eq!(ends(5_050, 5_000).unwrap().value, Delta::ms(1));
        assert_eq!(ends(5_000, 1_500), None);
    }

    #[test]
    fn delay_beyond_the_stated_tick_is_taken_off() {
        let mut tracker = ClockTracker::beginning(Delta::ms(10), Time::from_ns(0), Seq::new(100));
        let at = |ms| Time::default() + Delta::ms(ms);
        let clock = tracker.on_packet(at(23), Seq::new(102));
        assert_eq!(clock.emitted(at(23), Seq::new(102)), at(23));
        assert_eq!(clock.emitted(at(95), Seq::new(102)), at(30));
    }

    #[test]
    fn the_least_delay_follows_a_drifting_clock() {
        let mut tracker = ClockTracker::beginning(Delta::ms(1), Time::default(), Seq::new(0));
        let mut worst = Delta::ZERO;
        for tick in 0..600_000u32 {
            let now = Time::from_ns(i64::from(tick) * 1_000_050);
            let clock = tracker.on_packet(now, Seq::new(tick));
            worst = worst.max(now.since(clock.emitted(now, Seq::new(tick))));
        }
        assert!(worst < Delta::ms(1), "{worst}");
    }
}
