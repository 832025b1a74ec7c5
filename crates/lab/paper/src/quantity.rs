//! A number that the runs give: a result, or a statistic of a series.

use crate::evidence::{EvidencePoint, RunResults, Runs};
use crate::unit::Unit;
use serde::Deserialize;
use std::collections::BTreeMap;
use unbloat_stats::{Correlation, quantile};

/// Where a number comes from. `over` divides it by another, `change_from` is the change from another in percent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// Empty for a reader's own run, which has no name.
    #[serde(default)]
    pub run: String,
    #[serde(default)]
    pub at: BTreeMap<String, String>,
    /// Result, `SUBJECT.METRIC`.
    pub result: Option<String>,
    /// Results that are added to it.
    #[serde(default)]
    pub plus: Vec<String>,
    /// Instead: a statistic of a column of a table of the first repeat.
    pub table: Option<String>,
    pub column: Option<String>,
    /// The other column of a correlation.
    pub against: Option<String>,
    #[serde(default)]
    pub only: BTreeMap<String, String>,
    /// Rows of the same table and time, by which those of `only` are divided: their errors in percent.
    pub reference: Option<BTreeMap<String, String>>,
    /// Only rows of this time of the run and later, for errors.
    #[serde(default)]
    pub from_s: f64,
    pub statistic: Option<Statistic>,
    /// Of the points that `at` leaves open, the one where this is least or most: what a paper calls "from" and "up to".
    pub among: Option<Extreme>,
    pub over: Option<Other>,
    pub change_from: Option<Other>,
}

/// The other number of a ratio or a change: as the first one, but for what is given.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Other {
    pub run: Option<String>,
    pub at: Option<BTreeMap<String, String>>,
    pub result: Option<String>,
    pub plus: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Statistic {
    Mean,
    Min,
    Max,
    Median,
    P5,
    P25,
    P75,
    P95,
    Last,
    /// Pearson's, with the column `against`.
    Correlation,
    /// Root of the mean square.
    Rms,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extreme {
    Least,
    Most,
}

/// A published value agrees if it is this near to ours, as a fraction of the published value. Published figures are read to
/// two digits at best and come from one network on one day; the same quantity measured twice there differs by more.
pub const VALUE_TOLERANCE: f64 = 0.2;

/// Mean and extremes over repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl Spread {
    /// None of no values.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let count = values.len();
        (count > 0).then(|| Spread {
            mean: values.iter().sum::<f64>() / count as f64,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }

    /// Whether a published value agrees: it is within [`VALUE_TOLERANCE`], or our repeats lie on both sides of it.
    pub fn agrees_with(self, published: f64) -> bool {
        let reach = VALUE_TOLERANCE * published.abs();
        (self.low..=self.high).contains(&published) || (self.mean - published).abs() <= reach
    }
}

impl Quantity {
    /// Runs whose tables it reads.
    pub(crate) fn table_runs(&self) -> impl Iterator<Item = &str> {
        self.table.iter().map(|_| self.run.as_str())
    }

    /// In `unit`, over repeats. None if the runs do not have it, or not in this dimension.
    pub fn of(&self, evidence: &Runs<'_>, unit: Unit) -> Option<Spread> {
        if let Some(extreme) = self.among {
            let points = evidence.get(&self.run)?.at(&self.at);
            let all = points.filter_map(|point| self.at_point(&point.values).of(evidence, unit));
            let by_mean = |a: &Spread, b: &Spread| a.mean.total_cmp(&b.mean);
            return match extreme {
                Extreme::Least => all.min_by(by_mean),
                Extreme::Most => all.max_by(by_mean),
            };
        }
        let own = self.values(evidence)?;
        let name = self.name()?;
        if let Some(other) = self.over.as_ref().or(self.change_from.as_ref()) {
            let other = self.other(other).values(evidence)?;
            let derive = |(a, b): (&f64, &f64)| match self.over {
                Some(_) => a / b,
                None => 100.0 * (a / b - 1.0),
            };
            let derived: Vec<f64> = own.iter().zip(&other).map(derive).collect();
            // Of a ratio in percent: one is 100.
            let scale = match (unit, self.over.is_some()) {
                (Unit::Percent, true) => 100.0,
                _ => 1.0,
            };
            let scaled: Vec<f64> = derived.iter().map(|value| value * scale).collect();
            return Spread::of(&scaled);
        }
        // Neither has the unit of a column.
        if self.statistic == Some(Statistic::Correlation) || self.reference.is_some() {
            return Spread::of(&own);
        }
        let converted: Option<Vec<f64>> =
            own.iter().map(|value| unit.convert(name, *value)).collect();
        Spread::of(&converted?)
    }

    /// The same at one point of the sweep, and compared with what differs from it in what the other number names.
    fn at_point(&self, values: &BTreeMap<String, String>) -> Quantity {
        let mut here = Quantity {
            at: values.clone(),
            among: None,
            ..self.clone()
        };
        let others = here.over.iter_mut().chain(&mut here.change_from);
        for at in others.filter_map(|other| other.at.as_mut()) {
            let own = values.clone().into_iter().chain(std::mem::take(at));
            *at = own.collect();
        }
        here
    }

    /// Whether what counts is that it is more or less than zero.
    pub(crate) fn has_sign(&self) -> bool {
        self.change_from.is_some() || self.statistic == Some(Statistic::Correlation)
    }

    fn name(&self) -> Option<&str> {
        self.result.as_deref().or(self.column.as_deref())
    }

    fn other(&self, other: &Other) -> Quantity {
        Quantity {
            run: other.run.clone().unwrap_or_else(|| self.run.clone()),
            at: other.at.clone().unwrap_or_else(|| self.at.clone()),
            result: other.result.clone().or_else(|| self.result.clone()),
            plus: other.plus.clone().unwrap_or_else(|| self.plus.clone()),
            over: None,
            change_from: None,
            ..self.clone()
        }
    }

    /// One for each repeat, in the units of results.
    fn values(&self, evidence: &Runs<'_>) -> Option<Vec<f64>> {
        let point = evidence.get(&self.run)?.at(&self.at).next()?;
        self.values_at(point)
    }

    pub(crate) fn values_at(&self, point: &EvidencePoint) -> Option<Vec<f64>> {
        match (&self.result, &self.table, &self.column) {
            (Some(result), ..) => {
                let values: Vec<f64> = point
                    .runs
                    .iter()
                    .filter_map(|run: &RunResults| {
                        let more = self.plus.iter().map(|name| run.get(name).copied());
                        let more: Option<f64> = more.sum();
                        Some(run.get(result)? + more?)
                    })
                    .collect();
                (!values.is_empty()).then_some(values)
            }
            (None, Some(table), Some(column)) if self.against.is_some() => {
                let columns = [column.as_str(), self.against.as_deref()?];
                Some(vec![correlation(&point.rows(table, columns, &self.only)?)?])
            }
            (None, Some(table), Some(column)) if self.reference.is_some() => {
                let errors = point.errors(
                    table,
                    column,
                    [&self.only, self.reference.as_ref()?],
                    self.from_s,
                )?;
                Some(vec![self.statistic?.of(errors)?])
            }
            (None, Some(table), Some(column)) => {
                let rows = point.rows(table, [column], &self.only)?;
                let values: Vec<f64> = rows.into_iter().map(|[value]| value).collect();
                Some(vec![self.statistic?.of(values)?])
            }
            _ => None,
        }
    }
}

impl Statistic {
    fn of(self, mut values: Vec<f64>) -> Option<f64> {
        if values.is_empty() {
            return None;
        }
        let count = values.len() as f64;
        match self {
            Statistic::Correlation => None,
            Statistic::Rms => Some((values.iter().map(|x| x * x).sum::<f64>() / count).sqrt()),
            Statistic::Mean => Some(values.iter().sum::<f64>() / count),
            Statistic::Last => values.pop(),
            Statistic::Min => quantile(&mut values, 0.0),
            Statistic::Max => quantile(&mut values, 1.0),
            Statistic::Median => quantile(&mut values, 0.5),
            Statistic::P5 => quantile(&mut values, 0.05),
            Statistic::P25 => quantile(&mut values, 0.25),
            Statistic::P75 => quantile(&mut values, 0.75),
            Statistic::P95 => quantile(&mut values, 0.95),
        }
    }
}

/// None without variation.
fn correlation(pairs: &[[f64; 2]]) -> Option<f64> {
    let mut correlation = Correlation::new();
    pairs.iter().for_each(|[x, y]| correlation.record(*x, *y));
    correlation.coefficient()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;

    fn evidence() -> Evidence {
        let point = |cc: &str, values: [f64; 2]| EvidencePoint {
            values: BTreeMap::from([("flow.0.cc".to_owned(), cc.to_owned())]),
            runs: values
                .map(|v| BTreeMap::from([("a.rtt_mean_ms".to_owned(), v)]))
                .to_vec(),
            tables: Vec::new(),
        };
        Evidence {
            points: vec![
                point("vegas", [100.0, 200.0]),
                point("cubic", [300.0, 900.0]),
            ],
            notes: Vec::new(),
        }
    }

    fn spread(quantity: &Quantity, unit: Unit) -> Option<Spread> {
        let runs = evidence();
        quantity.of(&BTreeMap::from([("main".to_owned(), &runs)]), unit)
    }

    fn rtt(cc: &str) -> Quantity {
        Quantity {
            run: "main".to_owned(),
            at: BTreeMap::from([("flow.0.cc".to_owned(), cc.to_owned())]),
            result: Some("a.rtt_mean_ms".to_owned()),
            ..Quantity::default()
        }
    }

    #[test]
    fn a_quantity_has_mean_and_extremes_of_its_repeats() {
        let rtts = spread(&rtt("cubic"), Unit::Seconds).unwrap();
        assert_eq!((rtts.mean, rtts.low, rtts.high), (0.6, 0.3, 0.9));
        assert_eq!(spread(&rtt("reno"), Unit::Seconds), None);
        assert_eq!(spread(&rtt("cubic"), Unit::Bytes), None);
    }

    #[test]
    fn ratios_and_changes_pair_repeats_of_the_same_seed() {
        let other = Other {
            at: Some(rtt("vegas").at),
            ..Other::default()
        };
        let ratio = Quantity {
            over: Some(other.clone()),
            ..rtt("cubic")
        };
        let ratios = spread(&ratio, Unit::One).unwrap();
        assert_eq!((ratios.low, ratios.high), (3.0, 4.5));
        let change = Quantity {
            change_from: Some(other),
            ..rtt("cubic")
        };
        let changed = spread(&change, Unit::Percent).unwrap();
        assert_eq!((changed.low, changed.high), (200.0, 350.0));
    }

    #[test]
    fn the_least_and_the_most_are_over_the_points_left_open_each_compared_at_its_own() {
        let runs = {
            let point = |site: &str, loaded: &str, value: f64| EvidencePoint {
                values: [("site", site), ("loaded", loaded)]
                    .map(|(key, text)| (key.to_owned(), text.to_owned()))
                    .into(),
                runs: vec![BTreeMap::from([("a.x".to_owned(), value)])],
                tables: Vec::new(),
            };
            Evidence {
                points: vec![
                    point("1", "false", 10.0),
                    point("1", "true", 15.0),
                    point("2", "false", 100.0),
                    point("2", "true", 120.0),
                ],
                notes: Vec::new(),
            }
        };
        let at = |loaded: &str| BTreeMap::from([("loaded".to_owned(), loaded.to_owned())]);
        let change = |among| Quantity {
            run: "main".to_owned(),
            at: at("true"),
            result: Some("a.x".to_owned()),
            among: Some(among),
            change_from: Some(Other {
                at: Some(at("false")),
                ..Other::default()
            }),
            ..Quantity::default()
        };
        let of = |among| {
            let evidence = BTreeMap::from([("main".to_owned(), &runs)]);
            change(among).of(&evidence, Unit::Percent).unwrap().mean
        };
        assert!((of(Extreme::Least) - 20.0).abs() < 1e-9);
        assert!((of(Extreme::Most) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn correlation_is_one_on_a_rising_line_and_none_without_variation() {
        let line: Vec<[f64; 2]> = (0..9)
            .map(|x| [f64::from(x), 3.0 - 2.0 * f64::from(x)])
            .collect();
        assert!((correlation(&line).unwrap() + 1.0).abs() < 1e-12);
        assert_eq!(correlation(&[[1.0, 2.0], [1.0, 3.0]]), None);
        // Hand: x = 1, 2, 3 and y = 1, 3, 2 have covariance 1 and variances 2 and 2.
        let half = correlation(&[[1.0, 1.0], [2.0, 3.0], [3.0, 2.0]]).unwrap();
        assert!((half - 0.5).abs() < 1e-12);
    }

    #[test]
    fn percentiles_are_those_of_the_project() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let of = |statistic: Statistic| statistic.of(values.clone()).unwrap();
        assert_eq!(of(Statistic::Median), 50.5);
        assert!((of(Statistic::P95) - 95.05).abs() < 1e-9);
        assert_eq!(of(Statistic::Min), 1.0);
        assert_eq!(of(Statistic::Max), 100.0);
        assert_eq!(of(Statistic::Mean), 50.5);
        assert_eq!(of(Statistic::Last), 1.0);
        assert_eq!(Statistic::Rms.of(vec![3.0, -4.0, 0.0, 0.0]), Some(2.5));
    }
}
