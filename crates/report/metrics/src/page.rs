//! Metrics as text for Prometheus: a [`Page`] of families, each with name, unit, help and samples.
//!
//! # References
//! Prometheus' text format 0.0.4; "Metric and label naming" of Prometheus' documentation (base units, unit suffix, `_total`, `_info`).
//!
//! # Bounds
//! A family keeps at most [`MOST_SERIES`] samples and a label at most [`LONGEST_LABEL`] bytes, because labels hold names that outsiders
//! choose. What is left out is counted: `unbloat_metrics_dropped_series`.

use std::fmt::Write;

/// Samples of one family.
pub const MOST_SERIES: usize = 256;
/// Bytes of a label's value; longer ones are cut.
pub const LONGEST_LABEL: usize = 128;

/// What a family's numbers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Goes up and down.
    Gauge,
    /// Only goes up, from zero at the start of the process.
    Counter,
    /// Facts in labels; the value is always 1.
    Info,
}

/// The base units of Prometheus. The name of a family ends with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    None,
    Seconds,
    Bytes,
    BytesPerSecond,
    Ratio,
}

impl Unit {
    const fn name(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Seconds => "seconds",
            Unit::Bytes => "bytes",
            Unit::BytesPerSecond => "bytes_per_second",
            Unit::Ratio => "ratio",
        }
    }
}

/// Of the page, for HTTP.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Samples of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// Without unit and `_total`.
    name: &'static str,
    kind: Kind,
    unit: Unit,
    help: &'static str,
    samples: Vec<Sample>,
    dropped: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct Sample {
    labels: Vec<(&'static str, String)>,
    value: f64,
}

impl Family {
    /// Adds a sample. Unknown values are left out, as is a second sample with the same labels.
    pub fn sample(&mut self, labels: &[(&'static str, &str)], value: impl Into<Option<f64>>) {
        let Some(value) = value.into() else {
            return;
        };
        let labels = labels.iter().map(|(name, text)| (*name, short(text)));
        let labels: Vec<(&'static str, String)> = labels.collect();
        if self.samples.iter().any(|sample| sample.labels == labels) {
            return;
        }
        if self.samples.len() >= MOST_SERIES {
            self.dropped += 1;
            return;
        }
        self.samples.push(Sample { labels, value });
    }

    /// A sample without labels.
    pub fn value(&mut self, value: impl Into<Option<f64>>) {
        self.sample(&[], value);
    }

    fn write(&self, to: &mut String) {
        if self.samples.is_empty() {
            return;
        }
        let unit = match self.unit {
            Unit::None => String::new(),
            unit => format!("_{}", unit.name()),
        };
        let (kind, suffix) = match self.kind {
            Kind::Gauge => ("gauge", ""),
            Kind::Counter => ("counter", "_total"),
            Kind::Info => ("gauge", "_info"),
        };
        let name = format!("{}{unit}{suffix}", self.name);
        let _ = writeln!(to, "# TYPE {name} {kind}");
        let _ = writeln!(to, "# HELP {name} {}", escaped(self.help, false));
        for sample in &self.samples {
            to.push_str(&name);
            if !sample.labels.is_empty() {
                let labels = sample.labels.iter();
                let labels: Vec<String> = labels
                    .map(|(label, text)| format!("{label}=\"{}\"", escaped(text, true)))
                    .collect();
                let _ = write!(to, "{{{}}}", labels.join(","));
            }
            let _ = writeln!(to, " {}", number(sample.value));
        }
    }
}

/// All that a command has to tell at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    families: Vec<Family>,
}

impl Page {
    /// A family, new or known; `name` without unit and `_total`.
    fn family(
        &mut self,
        kind: Kind,
        name: &'static str,
        unit: Unit,
        help: &'static str,
    ) -> &mut Family {
        debug_assert!(is_name(name), "{name} is no name of a metric");
        let known = self
            .families
            .iter()
            .position(|family| family.name == name && family.unit == unit);
        let at = known.unwrap_or_else(|| {
            self.families.push(Family {
                name,
                kind,
                unit,
                help,
                samples: Vec::new(),
                dropped: 0,
            });
            self.families.len() - 1
        });
        &mut self.families[at]
    }

    pub fn gauge(&mut self, name: &'static str, unit: Unit, help: &'static str) -> &mut Family {
        self.family(Kind::Gauge, name, unit, help)
    }

    pub fn counter(&mut self, name: &'static str, unit: Unit, help: &'static str) -> &mut Family {
        self.family(Kind::Counter, name, unit, help)
    }

    pub fn info(&mut self, name: &'static str, help: &'static str) -> &mut Family {
        self.family(Kind::Info, name, Unit::None, help)
    }

    /// Adds the families of another page.
    pub fn extend(&mut self, other: Page) {
        self.families.extend(other.families);
    }

    /// The page as text.
    pub fn render(&self) -> String {
        let mut text = String::new();
        for family in &self.families {
            family.write(&mut text);
        }
        let dropped: u64 = self.families.iter().map(|family| family.dropped).sum();
        let mut lost = Page::default();
        lost.gauge(
            "unbloat_metrics_dropped_series",
            Unit::None,
            "Samples left out of this page, because a metric has at most 256.",
        )
        .value(dropped as f64);
        for family in &lost.families {
            family.write(&mut text);
        }
        text
    }
}

fn is_name(name: &str) -> bool {
    let mut all = name.chars();
    let first = all.next().is_some_and(|c| c.is_ascii_lowercase());
    first && all.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Cut at a character; without what is no text.
fn short(text: &str) -> String {
    let mut end = text.len().min(LONGEST_LABEL);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = text[..end].chars();
    kept.map(|c| {
        if c.is_control() && c != '\n' {
            '\u{fffd}'
        } else {
            c
        }
    })
    .collect()
}

fn escaped(text: &str, quotes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if quotes => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out
}

fn number(value: f64) -> String {
    match value {
        v if v.is_nan() => "NaN".to_owned(),
        v if v == f64::INFINITY => "+Inf".to_owned(),
        v if v == f64::NEG_INFINITY => "-Inf".to_owned(),
        v => format!("{v}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        let mut page = Page::default();
        page.info("unbloat_build", "The program.")
            .sample(&[("version", "1.0"), ("command", "watch")], 1.0);
        page.counter("unbloat_carried", Unit::Bytes, "Bytes carried.")
            .sample(&[("direction", "up")], 12.0);
        let delay = page.gauge("unbloat_delay", Unit::Seconds, "A \"delay\" of C:\\ kind.");
        delay.sample(&[("to", "a\"b\\c\nd")], 0.25);
        delay.sample(&[("to", "nobody")], None);
        page
    }

    #[test]
    fn a_page_has_kinds_units_totals_and_escapes() {
        assert_eq!(
            page().render(),
            "# TYPE unbloat_build_info gauge\n# HELP unbloat_build_info The program.\nunbloat_build_info{version=\"1.0\",command=\"watch\"} 1\n\
             # TYPE unbloat_carried_bytes_total counter\n# HELP unbloat_carried_bytes_total Bytes carried.\n\
             unbloat_carried_bytes_total{direction=\"up\"} 12\n\
             # TYPE unbloat_delay_seconds gauge\n\
             # HELP unbloat_delay_seconds A \"delay\" of C:\\\\ kind.\nunbloat_delay_seconds{to=\"a\\\"b\\\\c\\nd\"} 0.25\n\
             # TYPE unbloat_metrics_dropped_series gauge\n\
             # HELP unbloat_metrics_dropped_series Samples left out of this page, because a metric has at most 256.\n\
             unbloat_metrics_dropped_series 0\n"
        );
    }

    #[test]
    fn a_family_is_bounded_and_says_what_it_drops() {
        let mut page = Page::default();
        let flows = page.gauge("unbloat_flow_delay", Unit::Seconds, "Delay.");
        for n in 0..MOST_SERIES + 44 {
            flows.sample(&[("to", &format!("{n}-{}", "x".repeat(1_000)))], 1.0);
        }
        let text = page.render();
        assert_eq!(
            text.matches("unbloat_flow_delay_seconds{").count(),
            MOST_SERIES
        );
        assert!(text.contains("unbloat_metrics_dropped_series 44\n"));
        assert!(text.lines().all(|line| line.len() < 256));
    }
}
