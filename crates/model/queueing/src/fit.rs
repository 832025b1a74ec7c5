//! From measured delay and rate to the buffer and the link that explain them.

use crate::{Bottleneck, Capacity, Load, Mm1k, Model, ModelError};
use unbloat_units::{Bytes, Delta, Rate};

/// What was measured at one load: mean delay at the bottleneck (round trip less its floor, and a
/// transmission), and carried rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    pub delay: Delta,
    pub throughput: Rate,
}

/// One point and what the fitted model has closest to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedPoint {
    pub measured: Measured,
    /// The load at which the model comes closest; not measured, so fitted for each point.
    pub load: Load,
    pub delay: Delta,
    pub throughput: Rate,
    /// Relative residuals: the model's over the measured, less 1.
    pub delay_error: f64,
    pub throughput_error: f64,
}

/// The M/M/1/K that comes closest.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    pub capacity: Capacity,
    pub rate: Rate,
    /// Capacities that explain the points as well within the errors seen (about 95 %, and errors of
    /// at least 1 %). No upper end: the points do not tell how much larger it may be, as when they
    /// are all of light load.
    pub at_least: Capacity,
    pub at_most: Option<Capacity>,
    /// Root mean square of the relative distance between points and model.
    pub rms: f64,
    pub points: Vec<FittedPoint>,
}

/// Loads between which points may lie, and in how many steps their curve is taken.
const LIGHTEST: f64 = 0.001;
const STEPS: usize = 400;
/// More would take minutes, and say no more than their averages.
const MOST_POINTS: usize = 1_000;
/// Capacities that fit equally well to this are as good as each other.
const SAME: f64 = 0.0001;
/// Errors of measurement are taken to be at least this.
const LEAST_ERROR: f64 = 0.01;

/// Fits capacity and, if it is not known, rate of a bottleneck to points measured at several loads.
///
/// The model's curve is delay against carried rate as load goes from nothing to far above 1, both
/// on logarithmic scales; the sum of the squared distances of the points to it is made smallest
/// (both coordinates are measured, neither is exact). M/M/1/K only: that a bulk sender holds a queue
/// full is its end of high load, where delay is K transmission times. Of capacities that fit equally
/// well (to 0.01 %) the smallest is taken: the packets seen need no larger one.
pub fn fit_buffer(
    points: &[Measured],
    packet: Bytes,
    rate: Option<Rate>,
) -> Result<Fit, ModelError> {
    let logs = logarithms(points)?;
    let needed = if rate.is_some() { 1 } else { 2 };
    if points.len() < needed {
        let given = points.len();
        return Err(ModelError::TooFewPoints { given, needed });
    }
    if points.len() > MOST_POINTS {
        let (given, most) = (points.len(), MOST_POINTS);
        return Err(ModelError::TooManyPoints { given, most });
    }
    let search = Search { logs, packet, rate };
    let most = search.most_places();
    let grid = places(most);
    let sums: Vec<f64> = grid.iter().map(|&k| search.best_rate(k).1).collect();
    let least = (0..grid.len())
        .min_by(|&a, &b| sums[a].total_cmp(&sums[b]))
        .unwrap_or(0);
    let from = grid[least.saturating_sub(1)];
    let to = grid[(least + 1).min(grid.len() - 1)];
    let closest = search.best_places(from, to);
    let alike = search.best_rate(closest).1 + SAME * SAME * points.len() as f64;
    let places = search.edge(closest, 1, &|k| search.best_rate(k).1 <= alike);
    let (log_rate, sum) = search.best_rate(places);
    let freedom = points.len().saturating_sub(needed).max(1) as f64;
    let bound = sum + 4.0 * (sum / freedom).max(LEAST_ERROR * LEAST_ERROR);
    let explains = |k| search.best_rate(k).1 <= bound;
    let at_least = search.edge(places, 1, &explains);
    let at_most = (!explains(most)).then(|| search.edge(places, most, &explains));
    let link = Bottleneck::new(Rate::from_bps_f64(log_rate.exp()), packet)?;
    Ok(Fit {
        capacity: Capacity::new(places.into())?,
        rate: link.rate(),
        at_least: Capacity::new(at_least.into())?,
        at_most: at_most.map(|k| Capacity::new(k.into())).transpose()?,
        rms: (sum / points.len() as f64).sqrt(),
        points: search.fitted(points, places, link)?,
    })
}

/// (ln seconds, ln bit/s) of each point.
fn logarithms(points: &[Measured]) -> Result<Vec<[f64; 2]>, ModelError> {
    let log = |(index, point): (usize, &Measured)| {
        if point.delay > Delta::ZERO && point.throughput > Rate::ZERO {
            Ok([
                point.delay.as_secs().ln(),
                point.throughput.as_bps_f64().ln(),
            ])
        } else {
            Err(ModelError::Point(index + 1))
        }
    };
    points.iter().enumerate().map(log).collect()
}

/// Capacities from 1 to `most`, each about a tenth more than the one before.
fn places(most: u32) -> Vec<u32> {
    let mut grid = vec![1];
    while let Some(&last) = grid.last().filter(|k| **k < most) {
        grid.push((last + 1).max(last + last / 10).min(most));
    }
    grid
}

struct Search {
    logs: Vec<[f64; 2]>,
    packet: Bytes,
    rate: Option<Rate>,
}

/// A place on the model's curve: ln load, ln delay in transmission times, ln utilisation.
type Place = [f64; 3];

impl Search {
    /// A capacity far beyond what any point can tell: eight times the queue that the longest delay
    /// holds at the highest rate.
    fn most_places(&self) -> u32 {
        let delay = self
            .logs
            .iter()
            .map(|p| p[0])
            .fold(f64::MIN, f64::max)
            .exp();
        let rate = self.rate.map_or(f64::MIN, |r| r.as_bps_f64().ln());
        let rate = self.logs.iter().map(|p| p[1]).fold(rate, f64::max).exp();
        let queue = delay * rate / (8.0 * self.packet.as_u64() as f64);
        (8.0 * queue).clamp(64.0, f64::from(Capacity::MOST)) as u32
    }

    /// The curve of K places. It bends where ln load is about 1/K: steps are a small part of that
    /// close to load 1, and of ln load itself further away.
    fn curve(&self, k: u32) -> Vec<Place> {
        let bend = 1.0 / f64::from(k);
        let lightest = (LIGHTEST.ln() / bend).asinh();
        let heaviest = (Load::MOST.ln() / bend).asinh();
        let step = |i: usize| {
            let part = i as f64 / STEPS as f64;
            let log_load = bend * (lightest + part * (heaviest - lightest)).sinh();
            let load = Load::new(log_load.exp().min(Load::MOST)).expect("within the limits");
            let model = Mm1k::new(load, Capacity::new(k.into()).expect("within the limits"));
            [log_load, model.mean_delay().ln(), model.utilisation().ln()]
        };
        (0..=STEPS).map(step).collect()
    }

    /// Squared distance of a point to the curve of a link with this rate, and ln load there.
    fn distance(&self, curve: &[Place], point: [f64; 2], log_rate: f64) -> (f64, f64) {
        let log_transmission = (self.packet.as_u64() as f64 * 8.0).ln() - log_rate;
        let at = [point[0] - log_transmission, point[1] - log_rate];
        let pieces = curve.windows(2).map(|ends| to_piece(ends[0], ends[1], at));
        pieces.fold((f64::INFINITY, 0.0), |best, new| {
            if new.0 < best.0 { new } else { best }
        })
    }

    fn sum(&self, curve: &[Place], log_rate: f64) -> f64 {
        let distances = self
            .logs
            .iter()
            .map(|&p| self.distance(curve, p, log_rate).0);
        distances.sum()
    }

    /// The rate (as its logarithm) that fits best for K places, and the sum of squares.
    fn best_rate(&self, k: u32) -> (f64, f64) {
        let curve = self.curve(k);
        let sum = |log_rate: f64| self.sum(&curve, log_rate);
        if let Some(rate) = self.rate {
            let log_rate = rate.as_bps_f64().ln();
            return (log_rate, sum(log_rate));
        }
        // From a little below the highest carried rate, closest there, to a hundred times it.
        let highest = self.logs.iter().map(|p| p[1]).fold(f64::MIN, f64::max);
        let tried: Vec<f64> = (0..=48)
            .map(|i| highest - 0.2 + 4.8 * (f64::from(i) / 48.0).powi(2))
            .collect();
        let sums: Vec<f64> = tried.iter().map(|&r| sum(r)).collect();
        let least = (0..tried.len())
            .min_by(|&a, &b| sums[a].total_cmp(&sums[b]))
            .unwrap_or(0);
        let from = tried[least.saturating_sub(1)];
        let to = tried[(least + 1).min(tried.len() - 1)];
        golden(from, to, sum)
    }

    /// The best capacity between two; the sum of squares has one valley there.
    fn best_places(&self, mut from: u32, mut to: u32) -> u32 {
        while to - from > 3 {
            let third = (to - from) / 3;
            if self.best_rate(from + third).1 <= self.best_rate(to - third).1 {
                to -= third;
            } else {
                from += third;
            }
        }
        let sums = (from..=to).map(|k| (k, self.best_rate(k).1));
        sums.min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(from, |(k, _)| k)
    }

    /// The last capacity on the way from `inside` to `end` that still explains the points.
    fn edge(&self, inside: u32, end: u32, explains: &impl Fn(u32) -> bool) -> u32 {
        if explains(end) {
            return end;
        }
        let (mut inside, mut outside) = (inside, end);
        while inside.abs_diff(outside) > 1 {
            let middle = inside.min(outside) + inside.abs_diff(outside) / 2;
            if explains(middle) {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        inside
    }

    fn fitted(
        &self,
        points: &[Measured],
        k: u32,
        link: Bottleneck,
    ) -> Result<Vec<FittedPoint>, ModelError> {
        let curve = self.curve(k);
        let log_rate = link.rate().as_bps_f64().ln();
        let point = |(&measured, &log): (&Measured, &[f64; 2])| {
            let (_, log_load) = self.distance(&curve, log, log_rate);
            let load = Load::new(log_load.exp().min(Load::MOST))?;
            let model = Mm1k::new(load, Capacity::new(k.into())?);
            let (delay, throughput) = (
                link.span(model.mean_delay()),
                link.carried(model.utilisation()),
            );
            Ok(FittedPoint {
                measured,
                load,
                delay,
                throughput,
                delay_error: delay.as_secs() / measured.delay.as_secs() - 1.0,
                throughput_error: throughput.as_bps_f64() / measured.throughput.as_bps_f64() - 1.0,
            })
        };
        points.iter().zip(&self.logs).map(point).collect()
    }
}

/// Squared distance of `at` (ln delay, ln utilisation) to a straight piece, and ln load where it is
/// closest.
fn to_piece(a: Place, b: Place, at: [f64; 2]) -> (f64, f64) {
    let along = [b[1] - a[1], b[2] - a[2]];
    let off = [at[0] - a[1], at[1] - a[2]];
    let length = along[0] * along[0] + along[1] * along[1];
    let part = if length > 0.0 {
        ((along[0] * off[0] + along[1] * off[1]) / length).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let [x, y] = [off[0] - part * along[0], off[1] - part * along[1]];
    (x * x + y * y, a[0] + part * (b[0] - a[0]))
}

/// The lowest place of a function with one valley between two places, by the golden section.
fn golden(mut from: f64, mut to: f64, f: impl Fn(f64) -> f64) -> (f64, f64) {
    let part = (5f64.sqrt() - 1.0) / 2.0;
    let mut left = to - part * (to - from);
    let mut right = from + part * (to - from);
    let (mut f_left, mut f_right) = (f(left), f(right));
    while to - from > 1e-7 {
        if f_left <= f_right {
            (to, right, f_right) = (right, left, f_left);
            left = to - part * (to - from);
            f_left = f(left);
        } else {
            (from, left, f_left) = (left, right, f_right);
            right = from + part * (to - from);
            f_right = f(right);
        }
    }
    if f_left <= f_right {
        (left, f_left)
    } else {
        (right, f_right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{capacity, load};
    use fastrand::Rng;

    const PACKET: Bytes = Bytes::new(1500);

    /// What a link of 4 Mbit/s with K places shows at these loads; noise is relative.
    fn measured(k: u64, loads: &[f64], noise: f64) -> Vec<Measured> {
        let link = Bottleneck::new(Rate::mbps(4), PACKET).expect("a link");
        let mut rng = Rng::with_seed(4);
        let mut noisy = || 1.0 + noise * (2.0 * rng.f64() - 1.0);
        let point = |&rho: &f64| {
            let model = Mm1k::new(load(rho), capacity(k));
            Measured {
                delay: link.span(model.mean_delay() * noisy()),
                throughput: link.carried(model.utilisation() * noisy()),
            }
        };
        loads.iter().map(point).collect()
    }

    const LOADS: [f64; 6] = [0.3, 0.6, 0.8, 0.95, 1.05, 1.5];

    #[test]
    fn capacity_and_rate_come_back_from_a_clean_curve() {
        for k in [1, 5, 60, 700] {
            let fit = fit_buffer(&measured(k, &LOADS, 0.0), PACKET, None).expect("a fit");
            let found = f64::from(fit.capacity.get());
            assert!((found - k as f64).abs() <= 0.02 * k as f64, "{k}: {fit:?}");
            let rate = fit.rate.as_bps_f64() / 4e6;
            assert!((rate - 1.0).abs() < 0.005, "{k}: {rate}");
            assert!(fit.rms < 0.003, "{k}: {}", fit.rms);
        }
    }

    #[test]
    fn noise_shows_in_the_residuals_and_the_interval_holds_the_truth() {
        let points = measured(60, &LOADS, 0.1);
        let fit = fit_buffer(&points, PACKET, None).expect("a fit");
        assert!((0.005..0.1).contains(&fit.rms), "{}", fit.rms);
        assert!((20..=60).contains(&fit.at_least.get()), "{fit:?}");
        assert!(fit.at_most.is_none_or(|k| k.get() >= 60), "{fit:?}");
        for point in &fit.points {
            assert!(point.delay_error.abs() < 0.3 && point.throughput_error.abs() < 0.2);
        }
    }

    #[test]
    fn light_loads_do_not_tell_how_large_the_buffer_is() {
        let points = measured(100, &[0.1, 0.3, 0.5, 0.6], 0.0);
        let fit = fit_buffer(&points, PACKET, None).expect("a fit");
        assert_eq!(fit.at_most, None, "{fit:?}");
        assert!(fit.at_least.get() < 30);
    }

    #[test]
    fn with_a_known_rate_one_full_queue_is_enough() {
        // 900 ms at 4 Mbit/s: 300 packets of 3 ms.
        let full = Measured {
            delay: Delta::ms(900),
            throughput: Rate::mbps(4),
        };
        let fit = fit_buffer(&[full], PACKET, Some(Rate::mbps(4))).expect("a fit");
        assert!((299..=305).contains(&fit.capacity.get()), "{fit:?}");
        let error = fit_buffer(&[full], PACKET, None).expect_err("two unknowns");
        assert_eq!(
            error,
            ModelError::TooFewPoints {
                given: 1,
                needed: 2
            }
        );
    }

    #[test]
    fn points_without_delay_or_rate_are_named() {
        let mut points = measured(5, &LOADS, 0.0);
        points[3].throughput = Rate::ZERO;
        assert_eq!(fit_buffer(&points, PACKET, None), Err(ModelError::Point(4)));
    }
}
