//! How far B may be from A, as text: `goodput 5 %`, `down.queue_delay_p95 10 % or 3 ms`, `mos >= -0.2`.
//!
//! The signs, names and units are those of a scenario's `[score]`; the number is of the difference, B less A, and `%` is of A's
//! value. Without a sign the difference may go either way. Of several amounts one must hold. Without a subject every
//! subject's result of that name is meant. Of distributions the middle is meant: mean, median or share.

use crate::ToleranceError;
use crate::metric::without_unit;
use crate::row::Row;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use unbloat_units::{Bytes, Delta, Rate};

/// A bound on the difference of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    subject: Option<String>,
    metric: String,
    sign: Sign,
    amounts: Vec<Amount>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Within,
    Below,
    AtMost,
    Above,
    AtLeast,
}

const SIGNS: [(&str, Sign); 4] = [
    ("<=", Sign::AtMost),
    (">=", Sign::AtLeast),
    ("<", Sign::Below),
    (">", Sign::Above),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    /// Of A's value.
    Share(f64),
    /// In the unit that a result's name ends with.
    Absolute(f64, &'static str),
}

/// Whether a tolerance is kept.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Judgement {
    pub tolerance: String,
    pub holds: bool,
    /// Whether all of the difference's interval says the same; null where its noise is not known.
    pub is_sure: Option<bool>,
    /// The result that is furthest off, as SUBJECT.METRIC, with its difference; null where none has that name and unit, and
    /// then nothing holds.
    pub worst: Option<String>,
    pub difference: Option<f64>,
    pub unit: String,
}

impl Tolerance {
    pub(crate) fn speaks_of(&self, subject: &str, metric: &str) -> bool {
        let is_named = metric == self.metric || without_unit(metric) == self.metric;
        let has_unit = self.amounts.iter().all(|amount| match amount {
            Amount::Share(_) => true,
            Amount::Absolute(_, suffix) => &metric[without_unit(metric).len()..] == *suffix,
        });
        is_named && has_unit && self.subject.as_deref().is_none_or(|name| name == subject)
    }

    /// The largest difference allowed on both sides of A's value; none where one side alone is bound.
    pub(crate) fn margin(&self, a: f64) -> Option<f64> {
        let limits = self.amounts.iter().map(|amount| amount.of(a));
        (self.sign == Sign::Within).then(|| limits.fold(0.0, f64::max))
    }

    fn allows(&self, a: f64, difference: f64) -> bool {
        self.amounts
            .iter()
            .map(|amount| amount.of(a))
            .any(|limit| match self.sign {
                Sign::Within => difference.abs() <= limit,
                Sign::Below => difference < limit,
                Sign::AtMost => difference <= limit,
                Sign::Above => difference > limit,
                Sign::AtLeast => difference >= limit,
            })
    }

    /// By how much of A's value a difference is off; only to find the worst.
    fn excess(&self, row: &Row) -> f64 {
        let way = match self.sign {
            Sign::Within => row.difference.abs(),
            Sign::Below | Sign::AtMost => row.difference,
            Sign::Above | Sign::AtLeast => -row.difference,
        };
        way / row.a.value.abs().max(f64::MIN_POSITIVE)
    }

    pub(crate) fn judge(&self, rows: &[Row]) -> Judgement {
        let meant = rows.iter().filter(|row| {
            matches!(row.statistic, "mean" | "p50" | "share" | "value")
                && self.speaks_of(&row.subject, &row.metric)
        });
        let holds = |row: &Row| self.allows(row.a.value, row.difference);
        let worst = meant.max_by(|x, y| {
            holds(y)
                .cmp(&holds(x))
                .then(self.excess(x).total_cmp(&self.excess(y)))
        });
        let Some(worst) = worst else {
            return Judgement {
                tolerance: self.text.clone(),
                holds: false,
                is_sure: None,
                worst: None,
                difference: None,
                unit: String::new(),
            };
        };
        let says = holds(worst);
        let at_ends = worst
            .interval
            .map(|ends| [ends.low, ends.high].map(|end| self.allows(worst.a.value, end)));
        Judgement {
            tolerance: self.text.clone(),
            holds: says,
            // An interval that has the whole allowed range within it has both its ends outside.
            is_sure: at_ends.map(|ends| match says {
                true => ends == [true, true],
                false => ends == [false, false] && !self.reaches(worst),
            }),
            worst: Some(format!("{}.{}", worst.subject, worst.metric)),
            difference: Some(worst.difference),
            unit: worst.unit.clone(),
        }
    }

    /// Whether some difference in the interval of a row is allowed that lies between its ends.
    fn reaches(&self, row: &Row) -> bool {
        let spans_none = row
            .interval
            .is_some_and(|ends| ends.low <= 0.0 && ends.high >= 0.0);
        self.sign == Sign::Within && spans_none
    }
}

impl Amount {
    fn of(self, a: f64) -> f64 {
        match self {
            Amount::Share(share) => share * a.abs(),
            Amount::Absolute(amount, _) => amount,
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Tolerance {
    type Err = ToleranceError;

    fn from_str(text: &str) -> Result<Tolerance, ToleranceError> {
        let shape = || ToleranceError::Shape(text.to_owned());
        let (name, rest) = text
            .trim()
            .split_once(char::is_whitespace)
            .ok_or_else(shape)?;
        let rest = rest.trim();
        let signed = SIGNS
            .iter()
            .find_map(|(sign, meant)| Some((*meant, rest.strip_prefix(sign)?)));
        let (sign, rest) = signed.unwrap_or((Sign::Within, rest));
        let amounts = rest.split(" or ").map(|amount| read(amount.trim()));
        let amounts = amounts.collect::<Result<Vec<_>, _>>()?;
        let (subject, metric) = match name.rsplit_once('.') {
            Some((subject, metric)) => (Some(subject.to_owned()), metric),
            None => (None, name),
        };
        Ok(Tolerance {
            subject,
            metric: metric.to_owned(),
            sign,
            amounts,
            text: text.trim().to_owned(),
        })
    }
}

fn read(text: &str) -> Result<Amount, ToleranceError> {
    let (factor, size) = match text.strip_prefix('-') {
        Some(size) => (-1.0, size.trim()),
        None => (1.0, text.strip_prefix('+').unwrap_or(text).trim()),
    };
    let number = |digits: &str| digits.trim().parse::<f64>().ok();
    let amount = if let Some(share) = size.strip_suffix('%').and_then(number) {
        Amount::Share(factor * share / 100.0)
    } else if let Some(plain) = number(size) {
        Amount::Absolute(factor * plain, "")
    } else {
        let (value, suffix) = with_unit(size).map_err(|why| ToleranceError::Amount {
            amount: text.to_owned(),
            why,
        })?;
        Amount::Absolute(factor * value, suffix)
    };
    let (Amount::Share(value) | Amount::Absolute(value, _)) = amount;
    match value.is_finite() {
        true => Ok(amount),
        false => Err(ToleranceError::Infinite(text.to_owned())),
    }
}

fn with_unit(text: &str) -> Result<(f64, &'static str), unbloat_units::ParseUnitError> {
    let span = text.parse::<Delta>().map(|span| (span.as_ms(), "_ms"));
    let rate = || text.parse::<Rate>().map(|rate| (rate.as_bps_f64(), "_bps"));
    let bytes = || {
        text.parse::<Bytes>()
            .map(|bytes| (bytes.as_u64() as f64, "_bytes"))
    };
    span.or_else(|why| rate().or_else(|_| bytes()).map_err(|_| why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Noise;
    use crate::metric::{Goal, Topic};
    use crate::{Interval, Outcome, Side};

    fn row(subject: &str, metric: &str, a: f64, b: f64, half: Option<f64>) -> Row {
        let side = |value| Side {
            value,
            interval: None,
            count: 1,
        };
        let difference = b - a;
        Row {
            topic: Topic::Other,
            point: String::new(),
            subject: subject.into(),
            metric: metric.into(),
            statistic: "mean",
            unit: String::new(),
            goal: Goal::Less,
            is_key: true,
            a: side(a),
            b: side(b),
            difference,
            interval: half.map(|half| Interval {
                low: difference - half,
                high: difference + half,
            }),
            relative: None,
            margin: 0.0,
            noise: Noise::Unknown,
            outcome: Outcome::Same,
        }
    }

    fn holds(text: &str, row: &Row) -> bool {
        let tolerance: Tolerance = text.parse().unwrap();
        tolerance.judge(std::slice::from_ref(row)).holds
    }

    #[test]
    fn a_difference_is_judged_by_share_amount_and_sign() {
        let slower = row("all", "rtt_p95_ms", 100.0, 108.0, None);
        for (text, expected) in [
            ("rtt_p95 10 %", true),
            ("rtt_p95 5 %", false),
            ("rtt_p95 5 % or 10 ms", true),
            ("all.rtt_p95 8 ms", true),
            ("rtt_p95 < 8 ms", false),
            ("rtt_p95 <= 8 ms", true),
            ("rtt_p95 >= -1 ms", true),
            ("rtt_p95_ms <= 5 %", false),
            ("down.rtt_p95 10 %", false),
            ("rtt_p95 1 Mbit/s", false),
        ] {
            assert_eq!(holds(text, &slower), expected, "{text}");
        }
        assert!(holds("mos >= -0.2", &row("call", "mos", 4.0, 3.9, None)));
        assert!(!holds("mos >= -0.2", &row("call", "mos", 4.0, 3.7, None)));
    }

    #[test]
    fn without_a_subject_the_worst_one_counts() {
        let rows = [
            row("a", "drops", 100.0, 101.0, None),
            row("b", "drops", 100.0, 150.0, None),
        ];
        let tolerance: Tolerance = "drops 20 %".parse().unwrap();
        let judged = tolerance.judge(&rows);
        assert_eq!(
            (judged.holds, judged.worst.as_deref()),
            (false, Some("b.drops"))
        );
    }

    #[test]
    fn a_judgement_is_sure_when_all_of_the_interval_says_the_same() {
        let tolerance: Tolerance = "x 10".parse().unwrap();
        let sure = |difference: f64, half| {
            tolerance
                .judge(&[row("s", "x", 0.0, difference, half)])
                .is_sure
        };
        assert_eq!(sure(5.0, Some(1.0)), Some(true));
        assert_eq!(sure(5.0, Some(6.0)), Some(false));
        assert_eq!(sure(15.0, Some(1.0)), Some(true));
        assert_eq!(sure(15.0, Some(40.0)), Some(false));
        assert_eq!(sure(15.0, None), None);
    }

    #[test]
    fn what_is_no_tolerance_is_refused_with_examples() {
        for text in [
            "goodput",
            "goodput many",
            "goodput 5 % or",
            "goodput inf",
            "",
        ] {
            let error = text.parse::<Tolerance>().unwrap_err().to_string();
            assert!(
                error.contains("5 %") || error.contains("finite"),
                "{text}: {error}"
            );
        }
    }
}
