//! Points in time and spans between them, both in whole nanoseconds.

use crate::parse::{ParseUnitError, Scale, parse_scaled};
use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

/// A point in time: nanoseconds since the clock's own origin.
///
/// For captures the origin is 1970-01-01 UTC, for a simulator it is the start of the run.
/// Captures may carry times before the origin or far apart, so arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

/// A span of time in nanoseconds; negative when the second point lies before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Delta(i64);

impl Time {
    pub const MIN: Time = Time(i64::MIN);
    pub const MAX: Time = Time(i64::MAX);

    pub const fn from_ns(ns: i64) -> Time {
        Time(ns)
    }

    pub const fn as_ns(self) -> i64 {
        self.0
    }

    /// The span since `earlier`; negative if `earlier` is the later one.
    pub const fn since(self, earlier: Time) -> Delta {
        Delta(self.0.saturating_sub(earlier.0))
    }

    /// The nearest time within 146 years of the origin.
    pub const fn bounded(self) -> Time {
        const BOUND: i64 = (1 << 62) - 1;
        match self.0 {
            ns if ns > BOUND => Time(BOUND),
            ns if ns < -BOUND => Time(-BOUND),
            _ => self,
        }
    }

    /// [`Time::since`] of two times that are [`Time::bounded`], of which no difference has to
    /// saturate: for what every packet asks. Of others it may wrap.
    pub const fn since_bounded(self, earlier: Time) -> Delta {
        Delta(self.0.wrapping_sub(earlier.0))
    }
}

impl Delta {
    pub const ZERO: Delta = Delta(0);
    pub const MAX: Delta = Delta(i64::MAX);

    pub const fn ns(ns: i64) -> Delta {
        Delta(ns)
    }

    pub const fn us(us: i64) -> Delta {
        Delta(us.saturating_mul(1_000))
    }

    pub const fn ms(ms: i64) -> Delta {
        Delta(ms.saturating_mul(1_000_000))
    }

    pub const fn secs(s: i64) -> Delta {
        Delta(s.saturating_mul(1_000_000_000))
    }

    /// Rounds to the nearest nanosecond; saturates, and NaN becomes zero.
    pub fn from_secs_f64(s: f64) -> Delta {
        Delta((s * 1e9).round() as i64)
    }

    pub const fn as_ns(self) -> i64 {
        self.0
    }

    pub const fn as_us(self) -> i64 {
        self.0 / 1_000
    }

    pub fn as_ms(self) -> f64 {
        self.0 as f64 / 1e6
    }

    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }

    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }
}

impl Add<Delta> for Time {
    type Output = Time;
    fn add(self, d: Delta) -> Time {
        Time(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Delta> for Time {
    fn add_assign(&mut self, d: Delta) {
        *self = *self + d;
    }
}

impl Sub<Delta> for Time {
    type Output = Time;
    fn sub(self, d: Delta) -> Time {
        Time(self.0.saturating_sub(d.0))
    }
}

impl Sub for Time {
    type Output = Delta;
    fn sub(self, earlier: Time) -> Delta {
        self.since(earlier)
    }
}

impl Add for Delta {
    type Output = Delta;
    fn add(self, d: Delta) -> Delta {
        Delta(self.0.saturating_add(d.0))
    }
}

impl AddAssign for Delta {
    fn add_assign(&mut self, d: Delta) {
        *self = *self + d;
    }
}

impl Sub for Delta {
    type Output = Delta;
    fn sub(self, d: Delta) -> Delta {
        Delta(self.0.saturating_sub(d.0))
    }
}

impl SubAssign for Delta {
    fn sub_assign(&mut self, d: Delta) {
        *self = *self - d;
    }
}

impl Mul<i64> for Delta {
    type Output = Delta;
    fn mul(self, k: i64) -> Delta {
        Delta(self.0.saturating_mul(k))
    }
}

impl Div<i64> for Delta {
    type Output = Delta;
    fn div(self, k: i64) -> Delta {
        Delta(self.0 / k)
    }
}

impl fmt::Display for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.unsigned_abs();
        let (scale, unit) = match ns {
            0 => return f.write_str("0 s"),
            1..1_000 => (1.0, "ns"),
            1_000..1_000_000 => (1e3, "us"),
            1_000_000..1_000_000_000 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        let sign = if self.0 < 0 { "-" } else { "" };
        let digits = format!("{:.3}", ns as f64 / scale);
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{sign}{digits} {unit}")
    }
}

const SPANS: &[Scale] = &[
    Scale {
        unit: "ns",
        factor: 1.0,
    },
    Scale {
        unit: "us",
        factor: 1e3,
    },
    Scale {
        unit: "µs",
        factor: 1e3,
    },
    Scale {
        unit: "ms",
        factor: 1e6,
    },
    Scale {
        unit: "s",
        factor: 1e9,
    },
    Scale {
        unit: "min",
        factor: 60e9,
    },
    Scale {
        unit: "h",
        factor: 3600e9,
    },
    Scale {
        unit: "d",
        factor: 86_400e9,
    },
];

impl FromStr for Delta {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Delta, ParseUnitError> {
        Ok(Delta(parse_scaled(text, "10 ms", SPANS)?.round() as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_parse_with_their_unit_and_print_back() {
        for (text, ns) in [
            ("10 s", 10_000_000_000),
            ("250ms", 250_000_000),
            ("1.5 us", 1_500),
            ("1 h", 3_600_000_000_000),
            ("30 d", 2_592_000_000_000_000),
        ] {
            assert_eq!(text.parse::<Delta>().unwrap(), Delta::ns(ns), "{text}");
        }
        assert_eq!(Delta::ms(250).to_string(), "250 ms");
        assert_eq!(Delta::us(-1500).to_string(), "-1.5 ms");
    }

    #[test]
    fn a_bare_number_is_refused_with_the_fix() {
        let error = "10".parse::<Delta>().unwrap_err().to_string();
        assert!(error.contains("10 ms"), "{error}");
    }

    #[test]
    fn arithmetic_saturates_at_the_ends_of_time() {
        assert_eq!(Time::MAX + Delta::secs(1), Time::MAX);
        assert_eq!(Time::MAX.since(Time::MIN), Delta::MAX);
    }

    #[test]
    fn differences_of_bounded_times_never_wrap() {
        let (first, last) = (Time::MIN.bounded(), Time::MAX.bounded());
        assert_eq!(last.since_bounded(first), last.since(first));
        assert_eq!(first.since_bounded(last), first.since(last));
        // Until 2106, the last second of a pcap file, nothing is bounded.
        let end = Time::from_ns(i64::from(u32::MAX) * 1_000_000_000 + 999_999_999);
        assert_eq!(end.bounded(), end);
    }
}
