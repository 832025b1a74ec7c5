//! `[score]`: bounds that a run must keep, as `rtt_p95 = "< 120 ms"`.

use crate::scenario::toml::{Error, Node, Value};
use std::fmt;
use unbloat_units::{Bytes, Delta, Rate};

/// Which side of the bound is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl Comparison {
    const ALL: [(&str, Comparison); 4] = [
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("<", Comparison::Below),
        (">", Comparison::Above),
    ];

    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Comparison::Below => value < bound,
            Comparison::AtMost => value <= bound,
            Comparison::Above => value > bound,
            Comparison::AtLeast => value >= bound,
        }
    }
}

/// A bound on a result, in the unit of the column that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Name of the result without its unit: `rtt_p95`.
    pub metric: String,
    pub comparison: Comparison,
    /// Unit suffix of the result's column: `_ms`, `_bps`, `_bytes` or nothing.
    pub suffix: &'static str,
    pub value: f64,
    text: String,
}

impl Bound {
    /// Name of the column that the bound speaks of.
    pub fn column(&self) -> String {
        format!("{}{}", self.metric, self.suffix)
    }

    /// Whether `a` lies further on the wrong side than `b`.
    pub fn is_worse(&self, a: f64, b: f64) -> bool {
        match self.comparison {
            Comparison::Below | Comparison::AtMost => a > b,
            Comparison::Above | Comparison::AtLeast => a < b,
        }
    }

    pub fn holds(&self, value: f64) -> bool {
        self.comparison.holds(value, self.value)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.metric, self.text)
    }
}

/// Takes `[score]` out of a scenario.
pub fn take(scenario: &mut Node) -> Result<Vec<Bound>, Error> {
    let Some(node) = scenario.take("score") else {
        return Ok(Vec::new());
    };
    let Value::Table(table) = &node.value else {
        return Err(Error::new(
            node.origin.clone(),
            "score",
            "expected a table of bounds",
        ));
    };
    table
        .iter()
        .map(|(metric, bound)| parse(metric, bound))
        .collect()
}

fn parse(metric: &str, node: &Node) -> Result<Bound, Error> {
    let fault = || {
        let message = format!(
            "{} is not a bound; write it like \"< 120 ms\", \">= 4.5 Mbit/s\" or \"> 3.5\"",
            node.kind()
        );
        Error::new(node.origin.clone(), format!("score.{metric}"), message)
    };
    let text = node.as_text().ok_or_else(fault)?.trim();
    let (sign, comparison) = Comparison::ALL
        .into_iter()
        .find(|(sign, _)| text.starts_with(sign))
        .ok_or_else(fault)?;
    let (value, suffix) = quantity(text[sign.len()..].trim()).ok_or_else(fault)?;
    Ok(Bound {
        metric: metric.to_owned(),
        comparison,
        suffix,
        value,
        text: text.to_owned(),
    })
}

fn quantity(text: &str) -> Option<(f64, &'static str)> {
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some((number, ""));
    }
    let span = text.parse::<Delta>().map(|span| (span.as_ms(), "_ms"));
    let rate = || text.parse::<Rate>().map(|rate| (rate.as_bps_f64(), "_bps"));
    let bytes = || {
        text.parse::<Bytes>()
            .map(|bytes| (bytes.as_u64() as f64, "_bytes"))
    };
    span.or_else(|_| rate()).or_else(|_| bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(text: &str) -> Result<Vec<Bound>, Error> {
        take(&mut Node::parse(text).unwrap())
    }

    #[test]
    fn bounds_name_the_column_by_their_unit() {
        let bounds =
            bounds("[score]\nrtt_p95 = \"< 120 ms\"\ngoodput = \">= 4.5 Mbit/s\"\nmos = \"> 3.5\"")
                .unwrap();
        let columns: Vec<_> = bounds
            .iter()
            .map(|bound| (bound.column(), bound.value))
            .collect();
        let expected = [("goodput_bps", 4.5e6), ("mos", 3.5), ("rtt_p95_ms", 120.0)];
        assert_eq!(
            columns,
            expected.map(|(name, value)| (name.to_owned(), value))
        );
        assert!(bounds[2].holds(119.9) && !bounds[2].holds(120.0));
        assert_eq!(bounds[2].to_string(), "rtt_p95 < 120 ms");
    }

    #[test]
    fn what_is_no_bound_is_refused_with_examples() {
        for text in ["\"120 ms\"", "120", "\"< fast\"", "\"< nan\""] {
            let error = bounds(&format!("[score]\nrtt_p95 = {text}"))
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with("line 2: score.rtt_p95: ") && error.contains("< 120 ms"),
                "{error}"
            );
        }
    }
}
