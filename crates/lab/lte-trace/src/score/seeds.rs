//! Statistics of several traces that differ in their seed alone.

use super::statistic::{Check, Source, Statistic};
use std::collections::BTreeMap;
use unbloat_paper::Spread;

/// The analysis may be so far from the truth, of its value: sketches of distributions are exact to 0.8 %.
const EXACT: f64 = 0.01;

/// One statistic over seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub group: String,
    pub name: String,
    pub unit: String,
    pub source: Source,
    pub published: Option<f64>,
    pub analysed: Vec<f64>,
    pub truth: Vec<f64>,
    /// Of all traces together.
    pub samples: u64,
}

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Given, and the analysis returns what was drawn.
    Returned,
    /// Given, and the analysis does not return it.
    NotReturned,
    /// Followed, and near the published number.
    Agrees,
    Differs,
    /// Nothing to judge.
    Open,
}

impl Verdict {
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Returned => "returned",
            Verdict::NotReturned => "not returned",
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::Open => "",
        }
    }
}

/// One row for each statistic, in the order of the first trace.
pub fn over_seeds(traces: &[Vec<Statistic>]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for one in traces.iter().flatten() {
        let found = rows
            .iter_mut()
            .find(|row| row.group == one.group && row.name == one.name);
        let row = match found {
            Some(row) => row,
            None => {
                rows.push(Row {
                    group: one.group.clone(),
                    name: one.name.clone(),
                    unit: one.unit.clone(),
                    source: one.source,
                    published: one.published,
                    analysed: Vec::new(),
                    truth: Vec::new(),
                    samples: 0,
                });
                rows.last_mut().expect("a row was added")
            }
        };
        row.analysed.extend(one.analysed);
        row.truth.extend(one.truth);
        row.samples += one.samples;
    }
    rows
}

impl Row {
    pub fn mean(&self) -> Option<f64> {
        super::statistic::mean(&self.analysed)
    }

    /// Smallest and largest of all traces.
    pub fn range(&self) -> Option<(f64, f64)> {
        range(&self.analysed)
    }

    pub fn verdict(&self) -> Verdict {
        let (Some(ours), Some(published)) = (Spread::of(&self.analysed), self.published) else {
            return Verdict::Open;
        };
        let is_near = ours.agrees_with(published);
        let is_true = || {
            let pairs = self.analysed.iter().zip(&self.truth);
            let is_exact =
                |(analysed, truth): (&f64, &f64)| (analysed - truth).abs() <= EXACT * truth.abs();
            !self.truth.is_empty() && pairs.into_iter().all(is_exact)
        };
        match self.source {
            Source::Given if is_true() || is_near => Verdict::Returned,
            Source::Given => Verdict::NotReturned,
            Source::Followed if is_near => Verdict::Agrees,
            Source::Followed => Verdict::Differs,
            Source::NotModelled => Verdict::Open,
        }
    }
}

/// Smallest and largest of a list.
pub fn range(list: &[f64]) -> Option<(f64, f64)> {
    let least = list.iter().copied().reduce(f64::min)?;
    let most = list.iter().copied().reduce(f64::max)?;
    Some((least, most))
}

/// Values of one check over traces.
pub fn checks_over_seeds(traces: &[Vec<Check>]) -> Vec<(Check, Vec<f64>)> {
    let mut rows: Vec<(Check, Vec<f64>)> = Vec::new();
    for one in traces.iter().flatten() {
        match rows.iter_mut().find(|(row, _)| row.name == one.name) {
            Some((row, values)) => {
                row.samples += one.samples;
                values.extend(one.value);
            }
            None => rows.push((one.clone(), one.value.into_iter().collect())),
        }
    }
    rows
}

/// All numbers of a trace by name: what the analysis says as `GROUP.NAME`, what hosts and radio know as `truth.GROUP.NAME`, checks as
/// `check.NAME`; in lower case, words joined by `_`.
pub fn results(statistics: &[Statistic], checks: &[Check]) -> BTreeMap<String, f64> {
    let mut results = BTreeMap::new();
    for one in statistics {
        let name = format!("{}.{}", words(&one.group), words(&one.name));
        results.extend(one.truth.map(|value| (format!("truth.{name}"), value)));
        results.extend(one.analysed.map(|value| (name, value)));
    }
    for check in checks {
        let name = format!("check.{}", words(check.name));
        results.extend(check.value.map(|value| (name, value)));
    }
    results
}

/// The words before the first parenthesis.
fn words(text: &str) -> String {
    let text = text.split('(').next().unwrap_or_default().to_lowercase();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistic(source: Source, analysed: f64, truth: Option<f64>) -> Statistic {
        Statistic {
            group: "Flow size (Fig. 2)".to_owned(),
            name: "heavy hitters down, of bytes".to_owned(),
            unit: "%".to_owned(),
            source,
            published: Some(61.7),
            analysed: Some(analysed),
            truth,
            samples: 10,
        }
    }

    fn verdict(source: Source, values: &[(f64, Option<f64>)]) -> Verdict {
        let traces = values
            .iter()
            .map(|(ours, truth)| vec![statistic(source, *ours, *truth)]);
        over_seeds(&traces.collect::<Vec<_>>())[0].verdict()
    }

    #[test]
    fn what_is_given_is_returned_if_it_is_true_or_near_the_published_number() {
        assert_eq!(
            verdict(Source::Given, &[(30.0, Some(30.1)), (90.0, Some(90.1))]),
            Verdict::Returned
        );
        assert_eq!(
            verdict(Source::Given, &[(30.0, Some(40.0))]),
            Verdict::NotReturned
        );
        assert_eq!(verdict(Source::Given, &[(60.0, None)]), Verdict::Returned);
    }

    #[test]
    fn what_followed_agrees_within_a_fifth_or_within_the_range_of_seeds() {
        assert_eq!(verdict(Source::Followed, &[(55.0, None)]), Verdict::Agrees);
        assert_eq!(
            verdict(Source::Followed, &[(20.0, None), (62.0, None)]),
            Verdict::Agrees
        );
        assert_eq!(
            verdict(Source::Followed, &[(20.0, Some(20.0))]),
            Verdict::Differs
        );
    }

    #[test]
    fn results_have_names_of_words() {
        let results = results(&[statistic(Source::Given, 60.0, Some(61.0))], &[]);
        let names: Vec<&str> = results.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "flow_size.heavy_hitters_down_of_bytes",
                "truth.flow_size.heavy_hitters_down_of_bytes"
            ]
        );
    }
}
