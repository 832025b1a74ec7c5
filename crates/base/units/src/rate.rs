//! Data rates.

use crate::parse::{ParseUnitError, Scale, parse_scaled};
use crate::{Bytes, Delta};
use std::fmt;
use std::ops::Mul;
use std::str::FromStr;

/// A data rate in whole bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    pub const ZERO: Rate = Rate(0);

    pub const fn bps(bps: u64) -> Rate {
        Rate(bps)
    }

    pub const fn kbps(kbps: u64) -> Rate {
        Rate(kbps * 1_000)
    }

    pub const fn mbps(mbps: u64) -> Rate {
        Rate(mbps * 1_000_000)
    }

    /// Rounds to whole bits per second; negative and NaN become zero.
    pub fn from_bps_f64(bps: f64) -> Rate {
        Rate(bps.round() as u64)
    }

    pub const fn as_bps(self) -> u64 {
        self.0
    }

    pub fn as_bps_f64(self) -> f64 {
        self.0 as f64
    }
}

/// How much a rate carries in a span; nothing in a negative one.
impl Mul<Delta> for Rate {
    type Output = Bytes;
    fn mul(self, span: Delta) -> Bytes {
        Bytes::new((self.0 as f64 * span.as_secs() / 8.0).round() as u64)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..10_000 => write!(f, "{} bit/s", self.0),
            10_000..1_000_000 => write!(f, "{:.1} kbit/s", self.0 as f64 / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.2} Mbit/s", self.0 as f64 / 1e6),
            _ => write!(f, "{:.2} Gbit/s", self.0 as f64 / 1e9),
        }
    }
}

const RATES: &[Scale] = &[
    Scale {
        unit: "bit/s",
        factor: 1.0,
    },
    Scale {
        unit: "kbit/s",
        factor: 1e3,
    },
    Scale {
        unit: "Mbit/s",
        factor: 1e6,
    },
    Scale {
        unit: "Gbit/s",
        factor: 1e9,
    },
];

/// Spellings of `tc` (10mbit), iperf (10M) and others. Not `Mbps`, which is megabits to most and megabytes to `tc`.
const OTHERS: &[(&str, &str)] = &[
    ("bit", "bit/s"),
    ("k", "kbit/s"),
    ("kbit", "kbit/s"),
    ("kbit/s", "kbit/s"),
    ("m", "Mbit/s"),
    ("mbit", "Mbit/s"),
    ("mbit/s", "Mbit/s"),
    ("g", "Gbit/s"),
    ("gbit", "Gbit/s"),
    ("gbit/s", "Gbit/s"),
];

impl FromStr for Rate {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Rate, ParseUnitError> {
        let parse = |quantity: &str| parse_scaled(quantity, "20 Mbit/s", RATES);
        let parsed = parse(text).or_else(|error| {
            let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '/');
            let spelling = text[number.len()..].to_ascii_lowercase();
            let known = OTHERS.iter().find(|(other, _)| *other == spelling);
            let (_, unit) = known.ok_or(error.clone())?;
            parse(&format!("{number}{unit}")).map_err(|_| error)
        });
        Ok(Rate(parsed?.round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_parse_and_print_in_bits() {
        assert_eq!("20 Mbit/s".parse(), Ok(Rate::mbps(20)));
        assert_eq!(Rate::mbps(30).to_string(), "30.00 Mbit/s");
        for text in [
            "10mbit",
            "10M",
            "10 Mbit/s",
            "10Mbit",
            "10m",
            "10000 kbit",
            "10000k",
            "0.01G",
        ] {
            assert_eq!(text.parse(), Ok(Rate::mbps(10)), "{text}");
        }
        for text in [
            "20 MB/s",
            "20 Mbps",
            "20mbps",
            "20",
            "M",
            "mbit",
            "20 Mbit/s/s",
            "-1M",
        ] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_rate_carries_bytes_over_time() {
        assert_eq!(Rate::mbps(8) * Delta::ms(1), Bytes::new(1000));
        assert_eq!(Rate::mbps(8) * Delta::ms(-1), Bytes::ZERO);
    }
}
