//! Numbers as people read them.

use unbloat_units::{Bytes, Rate};

/// A value with its unit: sizes and rates scaled, the rest with three significant digits.
pub(crate) fn human(value: f64, unit: &str) -> String {
    match unit {
        "B" if value >= 0.0 => Bytes::new(value.round() as u64).to_string(),
        "bit/s" => Rate::from_bps_f64(value).to_string(),
        "kbit/s" => Rate::from_bps_f64(value * 1e3).to_string(),
        "" | "r" => three_digits(value),
        // What is measured in ms is not known to the nanosecond.
        "ms" => format!("{} ms", three_digits((value * 1e3).round() / 1e3)),
        "%" => format!("{} %", three_digits(value)),
        unit => format!("{} {unit}", three_digits(value)),
    }
}

/// Three significant digits without exponent; whole numbers in full, in groups of three.
pub(crate) fn three_digits(value: f64) -> String {
    let size = value.abs();
    if size >= 100.0 || (size < 1e15 && value.fract() == 0.0) {
        return grouped(value.round());
    }
    let places = match size {
        10.0.. => 1,
        1.0.. => 2,
        0.001.. => 3,
        _ => return format!("{value:.1e}"),
    };
    format!("{value:.places$}")
}

/// 1234567 as "1,234,567".
fn grouped(whole: f64) -> String {
    let digits = format!("{:.0}", whole.abs());
    let mut text = String::from(if whole < 0.0 { "-" } else { "" });
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn five_digits(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let scale = 10f64.powi(4 - x.abs().log10().floor() as i32);
    let rounded = (x * scale).round() / scale;
    if rounded.is_finite() { rounded } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_a_person_would_write_them() {
        for (value, unit, want) in [
            (35_900.0, "B", "35.9 kB"),
            (9_185.0, "kbit/s", "9.19 Mbit/s"),
            (0.0, "%", "0 %"),
            (0.06, "%", "0.060 %"),
            (-0.885, "r", "-0.885"),
            (1_234_567.0, "flows", "1,234,567 flows"),
            (435.4, "ms", "435 ms"),
            (12.34, "ms", "12.3 ms"),
            (7e-4, "ms", "0.001 ms"),
            (-9e-5, "ms", "0 ms"),
            (0.00001, "s", "1.0e-5 s"),
        ] {
            assert_eq!(human(value, unit), want);
        }
    }

    #[test]
    fn five_digits_are_kept() {
        assert_eq!(five_digits(1_234_567.0), 1_234_600.0);
        assert_eq!(five_digits(-0.001_234_567), -0.001_234_6);
        assert_eq!(five_digits(0.0), 0.0);
        assert_eq!(five_digits(1e-310), 1e-310);
    }
}
