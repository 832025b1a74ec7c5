//! Values as `tc` reads them: a number and one of its suffixes (iproute2, tc(8) "PARAMETERS").

/// What a number without a suffix counts, and what the suffixes multiply it by.
type Suffixes = &'static [(&'static str, f64)];

const TIMES: Suffixes = &[
    ("", 1.0),
    ("us", 1.0),
    ("usec", 1.0),
    ("usecs", 1.0),
    ("ms", 1e3),
    ("msec", 1e3),
    ("msecs", 1e3),
    ("s", 1e6),
    ("sec", 1e6),
    ("secs", 1e6),
];

const SIZES: Suffixes = &[
    ("", 1.0),
    ("b", 1.0),
    ("k", 1024.0),
    ("kb", 1024.0),
    ("m", 1_048_576.0),
    ("mb", 1_048_576.0),
    ("g", 1_073_741_824.0),
    ("gb", 1_073_741_824.0),
    ("kbit", 128.0),
    ("mbit", 131_072.0),
];

const RATES: Suffixes = &[
    ("", 1.0),
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("bps", 8.0),
    ("kbps", 8e3),
    ("mbps", 8e6),
    ("gbps", 8e9),
];

/// Microseconds; a bare number counts these.
pub(super) fn micros(text: &str) -> Option<u32> {
    whole(scaled(text, TIMES)?)
}

/// Nanoseconds; a bare number counts microseconds.
pub(super) fn nanos(text: &str) -> Option<u32> {
    whole(scaled(text, TIMES)? * 1e3)
}

/// Bytes; suffixes count in 1024.
pub(super) fn bytes(text: &str) -> Option<u32> {
    whole(scaled(text, SIZES)?)
}

/// Bits per second; `bps` are bytes per second, as `tc` has it.
pub(super) fn bits_per_second(text: &str) -> Option<u64> {
    let bits = scaled(text, RATES)?;
    (0.0..1e15).contains(&bits).then(|| bits.round() as u64)
}

pub(super) fn count(text: &str) -> Option<u32> {
    text.parse().ok()
}

/// A share: 0.02 or 2%.
pub(super) fn share(text: &str) -> Option<f64> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.0..=1.0).contains(&value).then_some(value)
}

fn scaled(text: &str, suffixes: Suffixes) -> Option<f64> {
    let text = text.to_ascii_lowercase();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let (_, factor) = suffixes
        .iter()
        .find(|(suffix, _)| *suffix == &text[end..])?;
    Some(number * factor)
}

fn whole(value: f64) -> Option<u32> {
    (value <= f64::from(u32::MAX)).then(|| value.round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_mean_what_they_mean_to_tc() {
        assert_eq!(micros("5ms"), Some(5000));
        assert_eq!(micros("250"), Some(250));
        assert_eq!(bytes("1mb"), Some(1 << 20));
        assert_eq!(bytes("1514"), Some(1514));
        assert_eq!(bits_per_second("10Mbit"), Some(10_000_000));
        assert_eq!(bits_per_second("1mbps"), Some(8_000_000));
        assert_eq!(share("2%"), Some(0.02));
    }

    #[test]
    fn other_words_are_refused() {
        assert_eq!(micros("5 ms"), None);
        assert_eq!(micros("fast"), None);
        assert_eq!(bytes("-1"), None);
        assert_eq!(bytes("99gb"), None);
        assert_eq!(share("2"), None);
    }
}
