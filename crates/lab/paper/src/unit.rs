//! Units of axes and claims, and how results and columns convert to them.

use serde::Deserialize;
use unbloat_units::{Bytes, Delta, Rate};

/// Payload of a segment on Ethernet with timestamps: 1500 - 20 - 32 bytes.
const SEGMENT_BYTES: f64 = 1448.0;

/// A unit as papers print it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Unit {
    #[serde(rename = "bytes")]
    Bytes,
    /// 1000 bytes.
    #[serde(rename = "kB")]
    Kilobytes,
    #[serde(rename = "MB")]
    Megabytes,
    /// Of 1448 bytes of payload.
    #[serde(rename = "segments")]
    Segments,
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "kbit/s")]
    KilobitsPerSecond,
    #[serde(rename = "Mbit/s")]
    MegabitsPerSecond,
    #[serde(rename = "%")]
    Percent,
    /// A plain number.
    #[default]
    #[serde(rename = "")]
    One,
    /// Not a number: a name on an axis.
    #[serde(rename = "name")]
    Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dimension {
    Size,
    Time,
    Rate,
    None,
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Kilobytes => "kB",
            Unit::Megabytes => "MB",
            Unit::Segments => "segments",
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
            Unit::KilobitsPerSecond => "kbit/s",
            Unit::MegabitsPerSecond => "Mbit/s",
            Unit::Percent => "%",
            Unit::One | Unit::Name => "",
        }
    }

    /// Dimension, and the number of bytes, milliseconds or bits per second in one of this unit.
    fn scale(self) -> (Dimension, f64) {
        match self {
            Unit::Bytes => (Dimension::Size, 1.0),
            Unit::Kilobytes => (Dimension::Size, 1e3),
            Unit::Megabytes => (Dimension::Size, 1e6),
            Unit::Segments => (Dimension::Size, SEGMENT_BYTES),
            Unit::Milliseconds => (Dimension::Time, 1.0),
            Unit::Seconds => (Dimension::Time, 1e3),
            Unit::KilobitsPerSecond => (Dimension::Rate, 1e3),
            Unit::MegabitsPerSecond => (Dimension::Rate, 1e6),
            Unit::Percent => (Dimension::None, 0.01),
            Unit::One | Unit::Name => (Dimension::None, 1.0),
        }
    }

    /// A value of the result or column `name`, in this unit. None if the two have different dimensions.
    pub fn convert(self, name: &str, value: f64) -> Option<f64> {
        // Columns whose unit stands elsewhere, and headline numbers of an analysis, which are named in
        // words: the axis has their unit.
        if matches!(name, "x" | "y" | "value" | "median") || name.contains(' ') {
            return Some(value);
        }
        let (dimension, factor) = of_suffix(name);
        let (wanted, scale) = self.scale();
        // Results in percent are already that.
        if self == Unit::Percent && name.ends_with("_percent") {
            return Some(value);
        }
        (dimension == wanted).then(|| value * factor / scale)
    }

    /// The number that a scenario's text stands for, in this unit: "262144 B", "40 ms", "5 Mbit/s" or "3".
    pub fn parse(self, text: &str) -> Option<f64> {
        let (dimension, scale) = self.scale();
        let base = match dimension {
            Dimension::Size => text.parse::<Bytes>().ok()?.as_u64() as f64,
            Dimension::Time => text.parse::<Delta>().ok()?.as_ms(),
            Dimension::Rate => text.parse::<Rate>().ok()?.as_bps_f64(),
            Dimension::None => text.parse().ok()?,
        };
        Some(base / scale)
    }
}

/// Results and columns name their unit by a suffix.
fn of_suffix(name: &str) -> (Dimension, f64) {
    match name.rsplit_once('_').map(|(_, suffix)| suffix) {
        Some("bytes") => (Dimension::Size, 1.0),
        Some("ns") => (Dimension::Time, 1e-6),
        Some("us") => (Dimension::Time, 1e-3),
        Some("ms") => (Dimension::Time, 1.0),
        Some("s") => (Dimension::Time, 1e3),
        Some("bps") => (Dimension::Rate, 1.0),
        Some("kbps") => (Dimension::Rate, 1e3),
        _ => (Dimension::None, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_convert_by_their_suffix_and_only_to_their_own_dimension() {
        let cases = [
            (
                Unit::MegabitsPerSecond,
                "download.goodput_bps",
                5e6,
                Some(5.0),
            ),
            (Unit::Seconds, "time_ns", 2.5e9, Some(2.5)),
            (Unit::Milliseconds, "rtt_p95_ms", 40.0, Some(40.0)),
            (Unit::Segments, "cwnd_bytes", 14_480.0, Some(10.0)),
            (Unit::Percent, "utilisation", 0.5, Some(50.0)),
            (Unit::One, "drops", 3.0, Some(3.0)),
            (Unit::Milliseconds, "goodput_bps", 1.0, None),
        ];
        for (unit, name, value, expected) in cases {
            assert_eq!(unit.convert(name, value), expected, "{name}");
        }
    }

    #[test]
    fn values_of_scenarios_are_numbers_on_an_axis() {
        assert_eq!(Unit::Bytes.parse("262144 B"), Some(262_144.0));
        assert_eq!(Unit::Seconds.parse("40 ms"), Some(0.04));
        assert_eq!(Unit::MegabitsPerSecond.parse("2 Mbit/s"), Some(2.0));
        assert_eq!(Unit::One.parse("3"), Some(3.0));
        assert_eq!(Unit::Bytes.parse("cubic"), None);
    }
}
