//! How far two answers are apart, and how far they may be.

use super::{Answer, Case};
use std::fmt;
use unbloat_stats::LogHistogram;

/// A quantity of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    pub quantity: &'static str,
    /// Kernel's and ours; none of a curve.
    pub values: Option<[f64; 2]>,
    /// Relative: of values with its sign, of curves the area between them over the area below the kernel's.
    pub off: f64,
    pub is_hit: bool,
}

/// What may differ, besides so much relative to the kernel's.
#[derive(Clone, Copy)]
struct Bound {
    relative: f64,
    absolute: f64,
    /// Besides the absolute one: how far ours is read from the truth, relative to ours.
    reading: f64,
}

const GOODPUT: Bound = Bound {
    relative: 0.02,
    absolute: 0.0,
    reading: 0.0,
};
const MEAN: Bound = Bound {
    relative: 0.05,
    absolute: 0.0,
    reading: 0.0,
};
/// Or the time that one packet takes, since delays come in such steps, and what a histogram may be off for ours.
const QUANTILE: Bound = Bound {
    relative: 0.05,
    absolute: 1.2,
    reading: LogHistogram::RELATIVE_ERROR,
};
/// Or three: a tenth of a few is less than one.
const COUNT: Bound = Bound {
    relative: 0.1,
    absolute: 3.0,
    reading: 0.0,
};
const CURVE: f64 = 0.1;

/// All quantities, in the order of the table.
pub fn verdicts(case: &Case) -> [Verdict; 9] {
    let value = |quantity, bound, of: fn(&Answer) -> f64| {
        of_values(quantity, bound, [of(&case.kernels), of(&case.ours)])
    };
    let curve = |quantity, of: fn(&Answer) -> &[f64]| {
        of_curves(quantity, of(&case.kernels), of(&case.ours))
    };
    [
        value("goodput", GOODPUT, |answer| answer.goodput_mbps),
        value("mean", MEAN, |answer| answer.delay_mean_ms),
        value("p50", QUANTILE, |answer| answer.delay_p50_ms),
        value("p95", QUANTILE, |answer| answer.delay_p95_ms),
        value("p99", QUANTILE, |answer| answer.delay_p99_ms),
        value("dropped", COUNT, |answer| answer.dropped),
        value("marked", COUNT, |answer| answer.marked),
        curve("cwnd", |answer| &answer.cwnd),
        curve("srtt", |answer| &answer.srtt_ms),
    ]
}

fn of_values(quantity: &'static str, bound: Bound, values: [f64; 2]) -> Verdict {
    let [kernels, ours] = values;
    let apart = ours - kernels;
    // Rounded as the referee's clock is.
    let absolute = bound.absolute + bound.reading * ours;
    let allowed = (bound.relative * kernels).max(absolute) + 0.001;
    Verdict {
        quantity,
        values: Some(values),
        off: if apart == 0.0 { 0.0 } else { apart / kernels },
        is_hit: apart.abs() <= allowed,
    }
}

fn of_curves(quantity: &'static str, kernels: &[f64], ours: &[f64]) -> Verdict {
    let off = area_between(kernels, ours);
    Verdict {
        quantity,
        values: None,
        off,
        is_hit: off <= CURVE,
    }
}

/// The area between two curves over the area below the first.
pub fn area_between(first: &[f64], second: &[f64]) -> f64 {
    assert_eq!(first.len(), second.len(), "a sample a second on both sides");
    let between: f64 = first.iter().zip(second).map(|(a, b)| (a - b).abs()).sum();
    between / first.iter().sum::<f64>()
}

/// A cell of the table; what misses its bound stands out.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_hit { "" } else { "**" };
        let percent = self.off * 100.0;
        match self.values {
            Some([0.0, 0.0]) => write!(f, "0"),
            Some([kernels, ours]) => {
                let digits = match self.quantity {
                    "goodput" => 3,
                    "dropped" | "marked" => 0,
                    _ => 2,
                };
                write!(
                    f,
                    "{mark}{kernels:.digits$} / {ours:.digits$} ({percent:+.1} %){mark}"
                )
            }
            None => write!(f, "{mark}{percent:.1} %{mark}"),
        }
    }
}
