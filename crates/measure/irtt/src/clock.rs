//! One-way delays between two clocks that neither agree nor run equally fast.
//!
//! # References
//! Moon, Skelly, Towsley: Estimation and Removal of Clock Skew from Network Delay Measurements, INFOCOM 1999 (a line under all
//! delays, found as a linear program); Zhang, Liu, Xia: Clock Synchronization Algorithms for Network Measurements, INFOCOM 2002
//! (convex hulls, both directions).
//!
//! # What is known, and what cannot be
//!
//! What is measured of request i is `u = up + offset(t)` and `v = down - offset(t)`, where `offset` is the server's clock less the
//! client's, and `t` the server's. While a test lasts, `offset(t) = a + b t`: monotonic clocks are not stepped, and
//! quartz wanders by some 0.01 ppm a minute. The least delays on the way up and down, `U` and `D`, are constant. So
//! `u >= U + a + b t` and `v >= D - a - b t`, with equality whenever that direction was idle.
//!
//! - `a` cannot be told from `U - D` by any number of packets. We split the least round trip in halves: **only the
//!   absolute one-way delays depend on that.** Added delay is `u` less the line under all `u`, whatever `a` is.
//! - `b` is known once a direction was idle at times far apart; while only one is loaded, the other one is. It is not known if
//!   both were never idle and their queues grew alike: then [`Correction::error`] is large and says so.
//! - Delay is added to the least that was seen. A direction that was never idle has its standing queue in that least.
//! - A clock whose rate is changed during the test (NTP does so, by up to 500 ppm) is outside of this: [`Correction::slack`] tells
//!   it from the shortest round trip, which no clock can hide.
//!
//! # How
//!
//! Of every 200 ms and each direction one of the lowest is kept: the second lowest of ten or more, so that one time read wrong
//! moves nothing. `A(b)` and `B(b)`, the greatest intercepts of lines of slope `b` and `-b` under them, add up to at most the
//! true least round trip, and to just that at the true drift. This leaves a range of drifts, a point if both directions were
//! idle both early and late. Among these the likely ones are those whose lines are touched most often: queues do not grow by some parts in
//! a million for long, while idle paths stay idle. The middle of the likely ones is taken, and half their width is its error.

mod floor;

use crate::echo::{Echo, Stamp};
use floor::{Floor, Point};
use unbloat_units::{Both, Delta, Time};

/// Both clocks are within 500 ppm of true time, or the kernel would not follow NTP (Linux `MAXFREQ`).
const MAX_DRIFT: f64 = 1000e-6;
/// Round trips that are enough for a correction.
const ENOUGH: usize = 10;
/// How sure the lowest delays are at best: reading clocks and waking up.
const LEAST_NOISE: Delta = Delta::us(10);
/// How unsure at worst: beyond, it is no noise but a queue that was never empty.
const MOST_NOISE: Delta = Delta::ms(2);

/// How the server's clock is ahead of the client's, and the least delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correction {
    /// The first request: what floors are relative to.
    first: Raw,
    /// The line under the ways up, at the origin, ns.
    up_floor: f64,
    /// The line under the ways down, at the origin, ns.
    down_floor: f64,
    /// Seconds by which the server's clock gains on the client's, a second.
    pub drift: f64,
    /// The true drift is within that of it.
    pub drift_error: f64,
    /// From first to last request that counts.
    pub span: Delta,
    /// Up to that much the lowest delays scatter.
    pub noise: Delta,
    /// By how much the shortest round trip exceeds the two least delays: no one request found both directions idle, or the clocks'
    /// rates changed.
    pub slack: Delta,
}

/// As measured, by clocks that do not agree.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Raw {
    /// When the request reached the server and its reply left, by the server's clock.
    reached: Time,
    left: Time,
    up: Delta,
    down: Delta,
}

impl Correction {
    /// From all echoes with all four times; none if they are too few to say anything.
    pub fn of(echoes: &[Echo]) -> Option<Correction> {
        let raws: Vec<Raw> = echoes.iter().filter_map(Raw::of).collect();
        if raws.len() < ENOUGH {
            return None;
        }
        let first = raws[0];
        let up = Floor::of(raws.iter().map(|r| r.up_since(&first)).collect());
        let down = Floor::of(raws.iter().map(|r| r.down_since(&first)).collect());
        let span = raws.iter().map(|r| r.reached - first.reached).max()?;
        let noise = noise(&up, &down);
        let sum = |b: f64| up.intercept(b) + down.intercept(-b);
        let touched = |b: f64| up.support(b, 2.0 * noise) + down.support(-b, 2.0 * noise);
        let possible = plateau(sum, 2.0 * noise);
        let (low, high) = likely(touched, possible, noise / span.as_ns().max(1) as f64);
        let drift = (low + high) / 2.0;
        let shortest = raws.iter().map(|r| (r.up + r.down).as_ns()).min()? as f64;
        let base = (first.up + first.down).as_ns() as f64;
        Some(Correction {
            first,
            up_floor: up.intercept(drift),
            down_floor: down.intercept(-drift),
            drift,
            drift_error: (high - low) / 2.0,
            span,
            noise: ns(2.0 * noise),
            slack: ns((shortest - base - sum(drift)).max(0.0)),
        })
    }

    /// What the load added in each direction: to the least delay of that direction. Does not depend on how the idle path is split.
    pub fn added(&self, echo: &Echo) -> Option<Both<Delta>> {
        let raw = Raw::of(echo)?;
        let (up, down) = (raw.up_since(&self.first), raw.down_since(&self.first));
        Some(Both {
            up: ns(up.delay - self.up_floor - self.drift * up.t),
            down: ns(down.delay - self.down_floor + self.drift * down.t),
        })
    }

    /// One-way delays, **if the idle path is as long up as down**.
    pub fn one_way(&self, echo: &Echo) -> Option<Both<Delta>> {
        let added = self.added(echo)?;
        let half = self.idle_rtt() / 2;
        Some(added.map(|added| added + half))
    }

    /// The two least delays together.
    pub fn idle_rtt(&self) -> Delta {
        self.first.up + self.first.down + ns(self.up_floor + self.down_floor)
    }

    /// Added delays are within that of the truth, given that both directions were idle at one time: what the drift's error
    /// makes of the whole span, the noise, and twice the slack (of a rate that changed while a direction was loaded, the shortest
    /// round trip shows a part).
    pub fn error(&self) -> Delta {
        self.noise + self.slack * 2 + ns(self.drift_error * self.span.as_ns() as f64)
    }
}

impl Raw {
    /// None without all four times, or if they contradict each other.
    fn of(echo: &Echo) -> Option<Raw> {
        let received = echo.received?;
        let (server_received, server_sent) = times(echo.server_received, echo.server_sent)?;
        let raw = Raw {
            reached: server_received,
            left: server_sent,
            up: server_received - echo.sent.mono,
            down: received.mono - server_sent,
        };
        let rtt = received.mono - echo.sent.mono;
        let held = server_sent - server_received;
        (!held.is_negative() && held <= rtt).then_some(raw)
    }

    fn up_since(&self, first: &Raw) -> Point {
        Point {
            t: (self.reached - first.reached).as_ns() as f64,
            delay: (self.up - first.up).as_ns() as f64,
        }
    }

    fn down_since(&self, first: &Raw) -> Point {
        Point {
            t: (self.left - first.reached).as_ns() as f64,
            delay: (self.down - first.down).as_ns() as f64,
        }
    }
}

/// The server's monotonic times if it tells them; its wall clock may be stepped.
fn times(received: Stamp, sent: Stamp) -> Option<(Time, Time)> {
    let mono = received.mono.zip(sent.mono);
    mono.or(received.wall.zip(sent.wall))
}

/// How much low delays scatter about a line where they do so least: in an idle direction. ns.
fn noise(up: &Floor, down: &Floor) -> f64 {
    let mut bends: Vec<f64> = up.bends().chain(down.bends()).collect();
    if bends.is_empty() {
        return MOST_NOISE.as_ns() as f64;
    }
    let few = bends.len() / 5;
    let (_, &mut bend, _) = bends.select_nth_unstable_by(few, f64::total_cmp);
    (2.0 * bend).clamp(LEAST_NOISE.as_ns() as f64, MOST_NOISE.as_ns() as f64)
}

/// Which of the possible drifts have lines that are touched at least three quarters as often as the best.
fn likely(touched: impl Fn(f64) -> usize, (low, high): (f64, f64), step: f64) -> (f64, f64) {
    let steps = ((high - low) / step).ceil().clamp(16.0, 4096.0);
    let drifts = (0..=steps as usize).map(|k| low + (high - low) * k as f64 / steps);
    let scored: Vec<(f64, usize)> = drifts.map(|b| (b, touched(b))).collect();
    let best = scored
        .iter()
        .map(|&(_, touches)| touches)
        .max()
        .unwrap_or(0);
    let good = scored
        .iter()
        .filter(|&&(_, touches)| 4 * touches >= 3 * best);
    let good = good.map(|&(b, _)| b);
    let least = good.clone().fold(high, f64::min);
    (least, good.fold(low, f64::max))
}

/// From where to where the concave `f` is within `below` of its maximum.
fn plateau(f: impl Fn(f64) -> f64, below: f64) -> (f64, f64) {
    let top = maximum(&f);
    let level = f(top) - below;
    let edge = |outside: f64| {
        let (mut inside, mut outside) = (top, outside);
        if f(outside) >= level {
            return outside;
        }
        for _ in 0..60 {
            let middle = (inside + outside) / 2.0;
            match f(middle) >= level {
                true => inside = middle,
                false => outside = middle,
            }
        }
        inside
    };
    (edge(-MAX_DRIFT), edge(MAX_DRIFT))
}

fn maximum(f: &impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (-MAX_DRIFT, MAX_DRIFT);
    for _ in 0..80 {
        let third = (high - low) / 3.0;
        match f(low + third) < f(high - third) {
            true => low += third,
            false => high -= third,
        }
    }
    (low + high) / 2.0
}

fn ns(ns: f64) -> Delta {
    Delta::ns(ns.round() as i64)
}

#[cfg(test)]
mod tests;
