//! How much of a loop's delay lies on its way back, by the clock of the host that answers.
//!
//! The way back adds to the time `t` at which answers pass, the way out does not: with `T` the answers' timestamps, in ticks of unknown length
//! and drift, and `L` their loops,
//!
//! ```text
//!     t = a + b T + k L
//! ```
//!
//! where `b` is the tick, as this flow shows it, and `k` the part of the loop's changes that is on the way back. Least squares give all three.
//! What `a + b T` leaves of `t` is the way back itself. A clock that steps, or that is too coarse, fits badly and says nothing.

use super::delays::Delays;
use super::window::Window;
use crate::tcp::since_micros;
use unbloat_stats::quantile;
use unbloat_units::Direction;

/// The largest standard error of `k` at which any `k` counts.
const SURE: f64 = 0.1;
/// With a larger error only a `k` this many errors away from one half counts. Where both directions queue and their delays move against each
/// other, `k` lies slightly outside 0 to 1. A clock that was set puts it much farther out.
const CLEAR: f64 = 4.0;
const FARTHEST_OFF_HALF: f64 = 1.0;
/// Fewer windows fit anything.
const LEAST: usize = 8;

/// A window's least loop. Times in microseconds since the first one's.
struct Point {
    place: usize,
    passed: f64,
    ticks: f64,
    delay: f64,
}

/// The median share of the delay of the windows at the places `stood` that lies on the way back; `None` if the clock does not tell.
pub(super) fn share_back(
    leg: Direction,
    windows: &[Window],
    delays: &[Delays],
    stood: &[usize],
) -> Option<f64> {
    let points = points(leg, windows, delays);
    let fit = Fit::of(&points)?;
    let of_standing = points
        .iter()
        .filter(|point| stood.binary_search(&point.place).is_ok());
    let mut stood_us: Vec<f64> = of_standing.clone().map(|point| point.delay).collect();
    // A tick says nothing of what is shorter.
    let usual = quantile(&mut stood_us, 0.5).filter(|&usual| usual >= 2.0 * fit.tick)?;
    // The way back of an empty path, where it was seen: hosts' own waits make loops longer and neither way, so the fit alone would
    // tell too small a part.
    let is_low = |point: &&Point| 4.0 * point.delay <= usual;
    let low = points.iter().filter(is_low).map(|point| fit.back(point));
    let empty = quantile(&mut low.collect::<Vec<f64>>(), 0.5).unwrap_or(0.0);
    let share = |point: &Point| ((fit.back(point) - empty) / point.delay).clamp(0.0, 1.0);
    quantile(&mut of_standing.map(share).collect::<Vec<f64>>(), 0.5)
}

fn points(leg: Direction, windows: &[Window], delays: &[Delays]) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    let mut last = None;
    let (mut passed, mut ticks) = (0_i64, 0_i64);
    for (place, (window, delay)) in windows.iter().zip(delays).enumerate() {
        let Some(answer) = window.cells[leg].answer else {
            continue;
        };
        let before = last.replace(answer).unwrap_or(answer);
        passed += since_micros(answer.now_us, before.now_us).as_us();
        ticks += i64::from(answer.stamp.since(before.stamp));
        points.push(Point {
            place,
            passed: passed as f64,
            ticks: ticks as f64,
            delay: delay.upper as f64,
        });
    }
    points
}

/// `a` and `b` of the equation, in microseconds.
struct Fit {
    begin: f64,
    tick: f64,
}

impl Fit {
    /// What was sent again after a loss is late by a timer, on neither way. Few such points would turn the line, so it is fitted first without
    /// delays of more than so many times their 90th percentile, and then with all that lie no more than so many times the median residual
    /// off it.
    const FAR: f64 = 1.5;
    const OFF: f64 = 4.0;
    /// At least so many of the points are on the line.
    const KEPT: f64 = 0.8;

    /// `None` if the points do not tell on which way delays change.
    fn of(points: &[Point]) -> Option<Fit> {
        let mut delays: Vec<f64> = points.iter().map(|point| point.delay).collect();
        let far = Self::FAR * quantile(&mut delays, 0.9)?;
        let near: Vec<&Point> = points.iter().filter(|p| p.delay <= far).collect();
        let (rough, k, _) = Fit::least_squares(&near)?;
        let off = |point: &Point| (rough.back(point) - k * point.delay).abs();
        let mut offs: Vec<f64> = points.iter().map(off).collect();
        let usual = quantile(&mut offs, 0.5)?;
        let kept: Vec<&Point> = points
            .iter()
            .filter(|point| off(point) <= Self::OFF * usual)
            .collect();
        let is_enough = kept.len() as f64 >= Self::KEPT * points.len() as f64;
        let (fit, way_back, error) = Fit::least_squares(&kept).filter(|_| is_enough)?;
        let is_clear = (CLEAR * error..=FARTHEST_OFF_HALF).contains(&(way_back - 0.5).abs());
        let is_sure = error <= SURE || is_clear;
        // What lies off the line by more than any delay is a clock that was set.
        let bound = 2.0 * (quantile(&mut delays, 1.0)? + fit.tick.abs());
        let is_set = points.iter().any(|point| fit.back(point).abs() > bound);
        (!is_set && fit.tick > 0.0 && is_sure).then_some(fit)
    }

    /// The line, `k` and its standard error.
    fn least_squares(points: &[&Point]) -> Option<(Fit, f64, f64)> {
        if points.len() < LEAST {
            return None;
        }
        let n = points.len() as f64;
        let mean = |of: fn(&Point) -> f64| points.iter().map(|point| of(point)).sum::<f64>() / n;
        let means = (mean(|p| p.passed), mean(|p| p.ticks), mean(|p| p.delay));
        let [mut tt, mut xx, mut ll, mut tx, mut tl, mut xl] = [0.0; 6];
        for point in points {
            let (t, x, l) = (
                point.passed - means.0,
                point.ticks - means.1,
                point.delay - means.2,
            );
            tt += t * t;
            xx += x * x;
            ll += l * l;
            tx += t * x;
            tl += t * l;
            xl += x * l;
        }
        let determinant = xx * ll - xl * xl;
        // Delays that only grow with time are not told from a clock's drift.
        if determinant <= 0.02 * xx * ll {
            return None;
        }
        let tick = (tx * ll - tl * xl) / determinant;
        let k = (tl * xx - tx * xl) / determinant;
        let residual = (tt - tick * tx - k * tl).max(0.0) / (n - 3.0);
        let error = (residual * xx / determinant).sqrt();
        let begin = means.0 - tick * means.1 - k * means.2;
        Some((Fit { begin, tick }, k, error))
    }

    /// The delay on the way back; where the loop is at its floor there is none.
    fn back(&self, point: &Point) -> f64 {
        point.passed - self.tick * point.ticks - self.begin
    }
}

#[cfg(test)]
mod tests {
    use super::super::window::{Answered, WINDOW};
    use super::*;
    use unbloat_units::{Delta, Seq};

    /// Windows of half a minute with a queue on the way out and one on the way back, by the second, answered by a host with this clock.
    fn share(
        out_ms: impl Fn(f64) -> f64,
        back_ms: impl Fn(f64) -> f64,
        clock: impl Fn(f64) -> f64,
    ) -> Option<f64> {
        let mut windows = Vec::new();
        for index in 0..120 {
            let at = f64::from(index) * WINDOW.as_secs();
            let (out, back) = (out_ms(at), back_ms(at));
            let mut window = Window {
                index,
                ..Window::default()
            };
            let answer = Answered {
                now_us: ((at * 1e3 + back) * 1e3) as u32,
                stamp: Seq::new(clock(at) as i64 as u32),
            };
            let trip = Delta::us(((20.0 + out + back) * 1e3) as i64);
            window
                .cells
                .down
                .add(false, trip, Some(Delta::ZERO), Some(answer));
            windows.push(window);
        }
        let delays: Vec<Delays> = windows
            .iter()
            .map(|window| Delays {
                upper: i64::from(window.cells.down.upper) - 20_000,
                lower: 0,
                usual: [0; 2],
                held: 0,
                samples: 1,
                sharp: 1,
            })
            .collect();
        let stood: Vec<usize> = (0..120).filter(|&at| delays[at].upper > 30_000).collect();
        share_back(Direction::Down, &windows, &delays, &stood)
    }

    /// Fills within two seconds, then goes up and down between 100 and 200 ms.
    fn sawtooth(at: f64, period: f64) -> f64 {
        (at * 50.0).min(100.0) + (at % period) / period * 100.0
    }

    #[test]
    fn the_way_is_told_whatever_the_clock() {
        for hz in [20.0, 64.0, 100.0, 976.5625, 1_000.0, 1e6] {
            for drift in [-0.05, -0.002, 0.0, 0.002, 0.05] {
                let clock = |at: f64| at * hz * (1.0 + drift) + 4.294e9;
                let out = share(|at| sawtooth(at, 3.7), |_| 0.0, clock).unwrap();
                let back = share(|_| 0.0, |at| sawtooth(at, 3.7), clock).unwrap();
                assert!(out < 0.25 && back > 0.75, "{hz} Hz, {drift}: {out} {back}");
            }
        }
    }

    #[test]
    fn queues_on_both_ways_share() {
        let clock = |at: f64| at * 1_000.0;
        let both = share(|at| sawtooth(at, 3.7), |at| sawtooth(at, 2.3), clock);
        assert!((0.35..=0.65).contains(&both.unwrap()), "{both:?}");
    }

    /// Points of a flow whose delays hardly change, with noise that puts the standard error of `k` near 0.12.
    fn is_sure_of(k: f64) -> bool {
        let noise = |at: usize| (at as f64 * 77_777.7).sin();
        let point = |place: usize| {
            let delay = 200_000.0 + 30_000.0 * noise(3 * place + 1);
            let passed = place as f64 * 250_000.0 + k * delay + 28_000.0 * noise(place);
            Point {
                place,
                passed,
                ticks: (place as f64 * 32.0).round(),
                delay,
            }
        };
        let points: Vec<Point> = (0..60).map(point).collect();
        Fit::of(&points).is_some()
    }

    #[test]
    fn a_rough_fit_tells_only_what_is_far_from_half_and_half() {
        let told = [-1.5, -0.2, 0.3, 0.5, 0.7, 1.2, 2.5].map(is_sure_of);
        assert_eq!(told, [false, true, false, false, false, true, false]);
    }

    #[test]
    fn a_clock_that_is_no_clock_tells_nothing() {
        let out = |at: f64| sawtooth(at, 3.7);
        let steps = share(
            out,
            |_| 0.0,
            |at| at * 1e3 + if at > 15.0 { 60_000.0 } else { 0.0 },
        );
        assert_eq!(steps, None);
        assert_eq!(share(out, |_| 0.0, |_| 7.0), None);
        assert_eq!(share(out, |_| 0.0, |at| (at * 77_777.7).sin() * 1e9), None);
        assert_eq!(share(out, |_| 0.0, |at| at * 2.0), None);
        let grows = share(|at| at * 10.0, |_| 0.0, |at| at * 1e3);
        assert_eq!(grows, None);
    }
}
