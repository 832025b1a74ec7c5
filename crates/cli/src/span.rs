//! Spans of the command line.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use unbloat_units::Delta;

/// A span as the standard library has it.
pub fn duration(span: Delta) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_ns()).unwrap_or_default())
}

/// Parses the interval between two samples.
pub fn sample_interval(text: &str) -> Result<Delta, String> {
    within(text, Delta::ms(100)..=Delta::secs(3_600), "100 ms to 1 h")
}

/// Parses a span, or a size, that has bounds; `said` says which.
pub fn within<T>(text: &str, bounds: RangeInclusive<T>, said: &str) -> Result<T, String>
where
    T: FromStr<Err: Display> + PartialOrd,
{
    let value: T = text.parse().map_err(|error| format!("{error}"))?;
    match bounds.contains(&value) {
        true => Ok(value),
        false => Err(format!("out of range; use {said}")),
    }
}

/// Stops the command as Ctrl-C does, after `span`.
pub fn stop_after(span: Delta, stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        std::thread::sleep(duration(span));
        stop.store(true, Ordering::Relaxed);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_out_of_bounds_is_refused_with_the_bounds() {
        assert_eq!(sample_interval("1 s"), Ok(Delta::secs(1)));
        assert_eq!(
            sample_interval("2 h"),
            Err("out of range; use 100 ms to 1 h".to_owned())
        );
        assert!(sample_interval("5").is_err());
    }
}
