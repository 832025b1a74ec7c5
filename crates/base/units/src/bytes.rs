//! Amounts of data.

use crate::parse::{ParseUnitError, Scale, parse_scaled};
use crate::{Delta, Rate};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Sub};
use std::str::FromStr;

/// A number of bytes. Which layer it counts (payload, IP, wire) is said by the field's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    pub const ZERO: Bytes = Bytes(0);

    pub const fn new(bytes: u64) -> Bytes {
        Bytes(bytes)
    }

    pub const fn kib(k: u64) -> Bytes {
        Bytes(k * 1024)
    }

    pub const fn mib(m: u64) -> Bytes {
        Bytes(m * 1024 * 1024)
    }

    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The mean rate of this much data over `span`; `None` when the span is not positive.
    pub fn over(self, span: Delta) -> Option<Rate> {
        (span > Delta::ZERO).then(|| Rate::from_bps_f64(self.0 as f64 * 8.0 / span.as_secs()))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, b: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(b.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, b: Bytes) {
        *self = *self + b;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, b: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(b.0))
    }
}

/// How long `Bytes` take at `Rate`.
impl Div<Rate> for Bytes {
    type Output = Delta;
    fn div(self, rate: Rate) -> Delta {
        Delta::from_secs_f64(self.0 as f64 * 8.0 / rate.as_bps_f64())
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes::ZERO, Add::add)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..10_000 => write!(f, "{} B", self.0),
            10_000..1_000_000 => write!(f, "{:.1} kB", self.0 as f64 / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.1} MB", self.0 as f64 / 1e6),
            _ => write!(f, "{:.2} GB", self.0 as f64 / 1e9),
        }
    }
}

const SIZES: &[Scale] = &[
    Scale {
        unit: "B",
        factor: 1.0,
    },
    Scale {
        unit: "kB",
        factor: 1e3,
    },
    Scale {
        unit: "KB",
        factor: 1e3,
    },
    Scale {
        unit: "MB",
        factor: 1e6,
    },
    Scale {
        unit: "GB",
        factor: 1e9,
    },
    Scale {
        unit: "KiB",
        factor: 1024.0,
    },
    Scale {
        unit: "MiB",
        factor: 1024.0 * 1024.0,
    },
    Scale {
        unit: "GiB",
        factor: 1024.0 * 1024.0 * 1024.0,
    },
];

impl FromStr for Bytes {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Bytes, ParseUnitError> {
        Ok(Bytes(parse_scaled(text, "1 MB", SIZES)?.round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_in_decimal_and_binary_units() {
        assert_eq!("1 MB".parse(), Ok(Bytes::new(1_000_000)));
        assert_eq!("2GiB".parse(), Ok(Bytes::mib(2048)));
        assert!("1500".parse::<Bytes>().is_err());
    }

    #[test]
    fn bytes_over_rate_is_time_and_over_time_is_rate() {
        assert_eq!(Bytes::new(1_250_000) / Rate::mbps(10), Delta::secs(1));
        assert_eq!(
            Bytes::new(1_250_000).over(Delta::secs(1)),
            Some(Rate::mbps(10))
        );
        assert_eq!(Bytes::new(1).over(Delta::ZERO), None);
    }
}
