//! The line's cells out of delays: ATM sends whole cells, so that delay rises in stairs with a packet's size.
//!
//! Each probe's delay is fitted by least squares as `a + b * wire bytes`: once with wire bytes as on a line without cells, once with
//! those of ATM for each overhead. The staircase has a period of 48 bytes, so an overhead is found up to multiples of 48;
//! the one between 8 and 55 is told, in which all encapsulations of ADSL lie (RFC 2684: 10 to 44). On a straight line the
//! overhead is a constant that cannot be told from the path's delay, and PTM, whose steps are of one byte in 64, looks straight.
//!
//! # Reference
//! `ATM_overhead_detector` of moeller0, whose idea this is: the smallest of many delays for each size, then both fits.

use unbloat_units::{Cells, Delta, Framing, Rate};

/// Of a cell's payload; the period of the stairs.
const CELL: u32 = 48;
const CELL_BYTES: f64 = 53.0;
const OVERHEADS: std::ops::Range<u32> = 8..8 + CELL;
/// Stairs are seen over two periods at least, by a size in every six bytes.
const LEAST_SPAN: u32 = 2 * CELL;
const LEAST_SIZES: usize = 24;
/// What a uniform error of one cell leaves: a cell's time by the root of twelve.
const STAIR_SD: f64 = CELL_BYTES / 3.464_101_615;
/// The stairs fit when they leave this share of what the straight line leaves, in squares.
const STAIRS_FIT: f64 = 0.35;
/// The line is straight when noise is this much smaller than what stairs would leave.
const STRAIGHT_NOISE: f64 = 0.5;

/// The smallest delay of probes of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub ip_bytes: u32,
    pub delay: Delta,
}

/// What the delays say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detection {
    /// Stairs of 48 bytes.
    Atm {
        framing: Framing,
        rate: Rate,
    },
    /// No stairs, where they would have been seen. What is added to a packet is not known, nor is PTM ruled out.
    NoCells {
        rate: Rate,
    },
    Inconclusive(Inconclusive),
}

/// Why nothing can be said.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Inconclusive {
    #[error(
        "{sizes} packet sizes are too few: use at least {LEAST_SIZES} sizes that span {LEAST_SPAN} bytes or more"
    )]
    TooFew { sizes: usize },
    #[error(
        "delay does not grow with packet size: the line is too fast, or it is not the bottleneck"
    )]
    Flat,
    #[error(
        "delays vary by {noise_us:.0} us, while one cell takes {cell_us:.0} us: send more packets of each size, on an idle line"
    )]
    Noisy { noise_us: f64, cell_us: f64 },
}

/// Judges a sweep over sizes. A size that comes twice counts by its smallest delay.
pub fn detect(samples: &[Sample]) -> Detection {
    let samples = smallest(samples);
    let span = match (samples.first(), samples.last()) {
        (Some(first), Some(last)) => last.ip_bytes - first.ip_bytes,
        _ => 0,
    };
    if samples.len() < LEAST_SIZES || span < LEAST_SPAN {
        let sizes = samples.len();
        return Detection::Inconclusive(Inconclusive::TooFew { sizes });
    }
    let straight = fit(&samples, f64::from);
    let fits = OVERHEADS.rev().map(|overhead| {
        let framing = atm(overhead);
        (
            framing,
            fit(&samples, |bytes| framing.wire_bytes(bytes) as f64),
        )
    });
    // Between sizes in steps of 4 bytes four overheads fit alike: the largest is told, with which no cell is forgotten.
    let best = fits.min_by(|(_, a), (_, b)| a.squares.total_cmp(&b.squares));
    let (framing, stairs) = best.expect("there are overheads to try");
    judge(samples.len(), straight, framing, stairs)
}

fn judge(count: usize, straight: Fit, framing: Framing, stairs: Fit) -> Detection {
    if straight.slope <= 0.0 || stairs.slope <= 0.0 {
        return Detection::Inconclusive(Inconclusive::Flat);
    }
    // A line and the best of many stairs have two and three parameters.
    let line_noise = (straight.squares / (count - 2) as f64).sqrt();
    let stairs_noise = (stairs.squares / (count - 3) as f64).sqrt();
    let rate = |fit: Fit| Rate::from_bps_f64(8e9 / fit.slope);
    if stairs.squares < STAIRS_FIT * straight.squares && stairs_noise < STAIR_SD * stairs.slope {
        let rate = rate(stairs);
        return Detection::Atm { framing, rate };
    }
    // The straight slope is per byte of payload: on ATM it would be 53/48 of the wire's.
    if line_noise < STRAIGHT_NOISE * STAIR_SD * straight.slope {
        let rate = rate(straight);
        return Detection::NoCells { rate };
    }
    Detection::Inconclusive(Inconclusive::Noisy {
        noise_us: line_noise / 1e3,
        cell_us: CELL_BYTES * straight.slope / 1e3,
    })
}

fn atm(overhead: u32) -> Framing {
    Framing {
        cells: Cells::Atm,
        overhead_bytes: overhead as i32,
        minimum_bytes: 0,
    }
}

fn smallest(samples: &[Sample]) -> Vec<Sample> {
    let mut sorted = samples.to_vec();
    sorted.sort_by_key(|sample| (sample.ip_bytes, sample.delay));
    sorted.dedup_by_key(|sample| sample.ip_bytes);
    sorted
}

/// Nanoseconds a byte, and what is left in squares.
#[derive(Clone, Copy, Debug)]
struct Fit {
    slope: f64,
    squares: f64,
}

/// Least squares of delay over `wire` of the size.
fn fit(samples: &[Sample], wire: impl Fn(u32) -> f64) -> Fit {
    let points = || {
        samples
            .iter()
            .map(|s| (wire(s.ip_bytes), s.delay.as_ns() as f64))
    };
    let count = samples.len() as f64;
    let (sum_x, sum_y) = points().fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let (mut xx, mut xy) = (0.0, 0.0);
    for (x, y) in points() {
        xx += (x - mean_x) * (x - mean_x);
        xy += (x - mean_x) * (y - mean_y);
    }
    let slope = if xx > 0.0 { xy / xx } else { 0.0 };
    let left = |(x, y): (f64, f64)| (y - mean_y - slope * (x - mean_x)).powi(2);
    let squares = points().map(left).sum();
    Fit { slope, squares }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delays over a line, with noise that repeats itself.
    fn sweep(framing: Framing, rate: Rate, noise_us: i64) -> Vec<Sample> {
        let mut state = 7u64;
        (28..=28 + 4 * CELL)
            .step_by(2)
            .map(|ip_bytes| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let noise = (state >> 33) as i64 % (noise_us * 1000 + 1);
                let ns = framing.wire_bytes(ip_bytes) as i64 * 8_000_000_000 / rate.as_bps() as i64;
                let delay = Delta::ms(10) + Delta::ns(ns + noise);
                Sample { ip_bytes, delay }
            })
            .collect()
    }

    #[test]
    fn stairs_are_seen_with_their_overhead_and_rate() {
        for overhead in [10, 14, 32, 40, 44] {
            let framing = atm(overhead);
            // A cell takes 424 us.
            match detect(&sweep(framing, Rate::mbps(1), 60)) {
                Detection::Atm {
                    framing: found,
                    rate,
                } => {
                    assert!(
                        (found.overhead_bytes - framing.overhead_bytes).abs() <= 2,
                        "{found} for {overhead}"
                    );
                    let rate = rate.as_bps_f64();
                    assert!((0.95e6..1.05e6).contains(&rate), "{rate}");
                }
                other => panic!("{other:?} for {overhead}"),
            }
        }
    }

    #[test]
    fn overheads_are_exact_without_noise() {
        for overhead in OVERHEADS {
            let sweep: Vec<Sample> = (28..300)
                .map(|ip_bytes| Sample {
                    ip_bytes,
                    delay: Delta::us(8 * atm(overhead).wire_bytes(ip_bytes) as i64),
                })
                .collect();
            let found = detect(&sweep);
            assert!(
                matches!(found, Detection::Atm { framing, .. } if framing == atm(overhead)),
                "{found:?} for {overhead}"
            );
        }
    }

    #[test]
    fn between_sizes_in_steps_no_cell_is_forgotten() {
        let sweep: Vec<Sample> = (44..=284)
            .step_by(4)
            .map(|ip_bytes| Sample {
                ip_bytes,
                delay: Delta::us(8 * atm(10).wire_bytes(ip_bytes) as i64),
            })
            .collect();
        let found = detect(&sweep);
        assert!(
            matches!(found, Detection::Atm { framing, .. } if framing == atm(12)),
            "{found:?}"
        );
    }

    #[test]
    fn a_straight_line_is_one_also_under_ptm() {
        for framing in [Framing::NONE, Framing::DOCSIS, Framing::PTM] {
            let found = detect(&sweep(framing, Rate::mbps(1), 60));
            assert!(
                matches!(found, Detection::NoCells { .. }),
                "{framing}: {found:?}"
            );
        }
    }

    #[test]
    fn noise_and_flatness_are_no_answers() {
        let noisy = detect(&sweep(Framing::ATM, Rate::mbps(20), 500));
        assert!(
            matches!(noisy, Detection::Inconclusive(_)),
            "cells of 21 us in noise of 500 us: {noisy:?}"
        );
        let flat: Vec<Sample> = (28..300)
            .map(|ip_bytes| Sample {
                ip_bytes,
                delay: Delta::ms(5),
            })
            .collect();
        assert_eq!(detect(&flat), Detection::Inconclusive(Inconclusive::Flat));
    }

    #[test]
    fn few_sizes_are_no_answer() {
        let few = &sweep(Framing::ATM, Rate::mbps(1), 0)[..10];
        let expected = Detection::Inconclusive(Inconclusive::TooFew { sizes: 10 });
        assert_eq!(detect(few), expected);
        assert!(matches!(detect(&[]), Detection::Inconclusive(_)));
    }
}
