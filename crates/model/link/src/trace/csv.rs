//! Rates over time as `seconds,rate` lines.

use super::{TraceError, excerpt, lines};
use crate::service::steps::Step;
use unbloat_units::{Delta, Rate};

/// Thirty years: beyond it a time is a slip.
const MAX_SECONDS: u64 = 1_000_000_000;
/// 1 Tbit/s.
const MAX_BPS: f64 = 1e12;

/// Reads lines of `seconds,rate`: each rate holds from its time until the next one. The first
/// line is the start of the trace, whatever its time; the last rate holds as long as the one
/// before it (a single one: for a second), then the trace starts again.
///
/// A rate carries its unit ("20 Mbit/s"), unless the first line names it: `seconds,rate_bps`,
/// `rate_kbps` or `rate_mbps`. Blank lines and lines that begin with `#` are skipped.
pub fn parse_rates(bytes: &[u8]) -> Result<Vec<Step>, TraceError> {
    let mut lines = lines(bytes)
        .filter(|(_, text)| !text.starts_with(b"#"))
        .peekable();
    let unit = lines.peek().and_then(|(_, text)| header_unit(text));
    if unit.is_some() {
        lines.next();
    }
    let mut points: Vec<(Delta, Rate)> = Vec::new();
    for (line, text) in lines {
        let point = point(line, text, unit)?;
        if points.last().is_some_and(|(last, _)| *last >= point.0) {
            return Err(TraceError::NotAfter {
                line,
                text: format!("{}", point.0),
            });
        }
        points.push(point);
    }
    steps(&points)
}

fn steps(points: &[(Delta, Rate)]) -> Result<Vec<Step>, TraceError> {
    let (_, last_rate) = *points.last().ok_or(TraceError::Empty)?;
    if points.iter().all(|(_, rate)| *rate == Rate::ZERO) {
        return Err(TraceError::AllZero);
    }
    let mut steps: Vec<Step> = points
        .windows(2)
        .map(|pair| Step {
            span: pair[1].0 - pair[0].0,
            rate: pair[0].1,
        })
        .collect();
    steps.push(Step {
        span: steps.last().map_or(Delta::secs(1), |step| step.span),
        rate: last_rate,
    });
    Ok(steps)
}

/// Bits per second of the unit that a header names.
fn header_unit(text: &[u8]) -> Option<f64> {
    match text {
        b"seconds,rate_bps" => Some(1.0),
        b"seconds,rate_kbps" => Some(1e3),
        b"seconds,rate_mbps" => Some(1e6),
        _ => None,
    }
}

fn point(line: usize, text: &[u8], unit: Option<f64>) -> Result<(Delta, Rate), TraceError> {
    let not_a_pair = || TraceError::NotAPair {
        line,
        text: excerpt(text),
    };
    let pair = std::str::from_utf8(text).map_err(|_| not_a_pair())?;
    let (seconds, quantity) = pair.split_once(',').ok_or_else(not_a_pair)?;
    let at = number(seconds, MAX_SECONDS as f64).ok_or_else(|| TraceError::NotSeconds {
        line,
        text: excerpt(seconds.as_bytes()),
        max: MAX_SECONDS,
    })?;
    let rate = match unit {
        Some(unit) => number(quantity, MAX_BPS / unit).map(|x| Rate::from_bps_f64(x * unit)),
        None => quantity
            .parse()
            .ok()
            .filter(|rate: &Rate| rate.as_bps_f64() <= MAX_BPS),
    };
    let rate = rate.ok_or_else(|| TraceError::NotARate {
        line,
        text: excerpt(quantity.as_bytes()),
    })?;
    Ok((Delta::from_secs_f64(at), rate))
}

/// A plain decimal number from zero to `max`.
fn number(text: &str, max: f64) -> Option<f64> {
    let text = text.trim();
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value: f64 = text.parse().ok().filter(|_| plain)?;
    (value <= max).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(ms: i64, kbps: u64) -> Step {
        Step {
            span: Delta::ms(ms),
            rate: Rate::kbps(kbps),
        }
    }

    #[test]
    fn rates_hold_until_the_next_and_the_last_as_long_as_the_one_before() {
        let text = b"# taken on a tram\n10,20 Mbit/s\n10.5, 0 bit/s\r\n\n12.5,1.5 Mbit/s\n";
        let steps = [step(500, 20_000), step(2_000, 0), step(2_000, 1_500)];
        assert_eq!(parse_rates(text).unwrap(), steps);
        assert_eq!(parse_rates(b"0,8 kbit/s").unwrap(), [step(1_000, 8)]);
        let named = b"\xef\xbb\xbfseconds,rate_kbps\n0,20000\n0.5,0\n2.5,1500\n";
        assert_eq!(parse_rates(named).unwrap(), steps);
    }

    #[test]
    fn a_fault_is_told_with_its_line_and_what_is_allowed() {
        for (bytes, told) in [
            (
                &b"0,1 Mbit/s\n1 2 Mbit/s"[..],
                "line 2: \"1 2 Mbit/s\" is not \"seconds,rate\"",
            ),
            (b"x,1 Mbit/s", "line 1: \"x\" is not a time; write seconds"),
            (b"-1,1 Mbit/s", "line 1: \"-1\" is not a time"),
            (b"1e300,1 Mbit/s", "line 1: \"1e300\" is not a time"),
            (
                b"0,20",
                "line 1: \"20\" is not a rate; write it with its unit",
            ),
            (b"0,20 MB/s", "is not a rate"),
            (b"0,9999 Gbit/s", "is not a rate"),
            (b"0,NaN Mbit/s", "is not a rate"),
            (
                b"seconds,rate_mbps\n0,1\n0,2",
                "line 3: the time 0 s is not after",
            ),
            (b"0,0 bit/s\n1,0 bit/s", "no rate in the trace is above 0"),
            (b"\xff,\xfe", "line 1:"),
            (b"", "no line with a time"),
        ] {
            let message = parse_rates(bytes).unwrap_err().to_string();
            assert!(message.contains(told), "{message}");
        }
    }
}
