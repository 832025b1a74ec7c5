//! Two runs laid side by side.

use crate::conditions::{Condition, Facts, cautions, conditions};
use crate::course::Course;
use crate::estimate::{Difference, Estimate, difference, difference_of_repeats};
use crate::metric::{Goal, Topic, meaning, unit};
use crate::points::matched;
use crate::row::{Interval, Outcome, Row, Side};
use crate::run::{Name, Run, StageSpan};
use crate::spread::{likeness, mean_of_blocks, quantile, quantile_of_blocks};
use crate::tolerance::{Judgement, Tolerance};
use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use unbloat_stats::{Cdf, LogHistogram};

/// Version of what a [`Comparison`] is serialised to; rises when a field changes its meaning or goes.
pub const FORMAT_VERSION: u32 = 1;

/// Points of a distribution's curve, at most twice as many.
const CURVE_PARTS: usize = 200;

/// A distribution of both runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DistributionRow {
    pub topic: Topic,
    pub subject: String,
    pub metric: String,
    pub unit: String,
    pub count_a: u64,
    pub count_b: u64,
    /// At 1, 5, 25, 50, 75, 90, 95, 99 %.
    pub quantiles_a: [f64; 8],
    pub quantiles_b: [f64; 8],
    /// Kolmogorov and Smirnov: largest distance between the distribution functions, and how often chance makes it so large;
    /// the latter is null for courses over time, whose samples depend on each other.
    pub ks: f64,
    pub ks_p: Option<f64>,
    /// Cliff: how often a value of B exceeds one of A, less how often it is the other way round.
    pub delta: f64,
    /// Of Mann and Whitney's U; null as above.
    pub mann_whitney_p: Option<f64>,
    /// Value and share of values up to it, of A and of B.
    #[serde(skip)]
    pub curves: [Vec<(f64, f64)>; 2],
}

impl DistributionRow {
    pub const QUANTILES: [f64; 8] = [0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
}

/// A course over time of both runs: times in s, largest values since the time before.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesRow {
    pub topic: Topic,
    pub subject: String,
    pub metric: String,
    pub unit: String,
    pub a: (Vec<f64>, Vec<f64>),
    pub b: (Vec<f64>, Vec<f64>),
}

/// What two runs have in common, and where they differ.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    pub format_version: u32,
    pub a: String,
    pub b: String,
    pub verdict: Verdict,
    /// Sentences about what makes the two hard to compare.
    pub cautions: Vec<String>,
    /// How they were made, where that differs.
    pub conditions: Vec<Condition>,
    /// What the runs' own programs concluded, where they did.
    pub verdicts: [Option<String>; 2],
    pub quantities: Vec<Row>,
    pub distributions: Vec<DistributionRow>,
    #[serde(skip)]
    pub series: Vec<SeriesRow>,
    /// Of A, if both are tests.
    #[serde(skip)]
    pub stages: Vec<StageSpan>,
    /// What only A has, what only B has.
    pub only_in_a: Vec<String>,
    pub only_in_b: Vec<String>,
    pub judgements: Vec<Judgement>,
}

/// Lays two runs side by side. Tolerances that hold on both sides also say how large a difference of their results matters.
pub fn compare(a: &Run, b: &Run, tolerances: &[Tolerance]) -> Comparison {
    let mut sides = Sides {
        tolerances,
        rows: Vec::new(),
        only: [Vec::new(), Vec::new()],
    };
    let notes = sides.results(a, b);
    sides.values(a, b);
    let mut distributions = sides.spreads(a, b);
    let (of_courses, mut series) = sides.courses(a, b);
    let wholes = a.whole.iter().filter_map(|(metric, left)| {
        let name = Name::new("", *metric);
        Some(series_row(&name, left, b.whole.get(metric)?))
    });
    let wholes: Vec<SeriesRow> = wholes.collect();
    let mut stages = Vec::new();
    if !wholes.is_empty() {
        series = wholes;
        stages.clone_from(&a.stages);
    }
    distributions.extend(of_courses);
    distributions
        .sort_by(|x, y| (x.topic, &x.subject, &x.metric).cmp(&(y.topic, &y.subject, &y.metric)));
    sides.tables(a, b);
    let Sides {
        mut rows,
        only: [only_in_a, only_in_b],
        ..
    } = sides;
    rows.sort_by(|x, y| order(x).cmp(&order(y)));
    let mut cautions = cautions(&a.facts, &b.facts);
    cautions.extend(notes);
    for (letter, run) in [("A", a), ("B", b)] {
        cautions.extend(run.left_out.iter().map(|left| format!("{letter}: {left}")));
    }
    let judgements = tolerances
        .iter()
        .map(|tolerance| tolerance.judge(&rows))
        .collect();
    let name = |facts: &Facts| facts.name.clone();
    Comparison {
        format_version: FORMAT_VERSION,
        a: name(&a.facts),
        b: name(&b.facts),
        verdict: Verdict::of(&rows),
        cautions,
        conditions: conditions(&a.facts, &b.facts),
        verdicts: [a.facts.verdict.clone(), b.facts.verdict.clone()],
        quantities: rows,
        distributions,
        series,
        stages,
        only_in_a,
        only_in_b,
        judgements,
    }
}

fn order(row: &Row) -> (Topic, bool, usize, &str, &str, &str, &str) {
    let whole_first = ["all", "down", "up"]
        .iter()
        .position(|name| *name == row.subject);
    let subject = whole_first.unwrap_or(3);
    (
        row.topic,
        !row.is_key,
        subject,
        &row.subject,
        &row.metric,
        &row.point,
        row.statistic,
    )
}

fn series_row(name: &Name, a: &Course, b: &Course) -> SeriesRow {
    SeriesRow {
        topic: meaning(&name.metric).topic,
        subject: name.subject.clone(),
        metric: name.metric.clone(),
        unit: unit(&name.metric).to_owned(),
        a: a.points(),
        b: b.points(),
    }
}

struct Sides<'a> {
    tolerances: &'a [Tolerance],
    rows: Vec<Row>,
    only: [Vec<String>; 2],
}

impl Sides<'_> {
    /// Results with their repeats, point by point. Gives sentences about how points were matched.
    fn results(&mut self, a: &Run, b: &Run) -> Vec<String> {
        let matched = matched(a, b);
        for (of_a, of_b, point) in &matched.pairs {
            let (of_a, of_b) = (&a.results[of_a], &b.results[of_b]);
            for (name, left, right) in self.both(of_a, of_b, point) {
                let values =
                    |side: &[(u64, f64)]| side.iter().map(|(_, value)| *value).collect::<Vec<_>>();
                let (x, y) = (
                    Estimate::of_repeats(&values(left)),
                    Estimate::of_repeats(&values(right)),
                );
                self.row(
                    point,
                    name,
                    "mean",
                    &x,
                    &y,
                    difference_of_repeats(left, right),
                );
            }
        }
        let is_nothing = matched.pairs.is_empty();
        for (side, only) in matched.only.into_iter().enumerate() {
            let named = |label: String| {
                if label.is_empty() {
                    "results without a sweep".to_owned()
                } else {
                    format!("point {label}")
                }
            };
            self.only[side].extend(only.into_iter().map(named));
        }
        let none = is_nothing && !a.results.is_empty() && !b.results.is_empty();
        let none = none.then(|| {
            "No point of A's sweep is one of B's: name values with --set, so that one is."
                .to_owned()
        });
        matched.note.into_iter().chain(none).collect()
    }

    fn values(&mut self, a: &Run, b: &Run) {
        for (name, x, y) in self.both(&a.values, &b.values, "") {
            let statistic = if name.metric.ends_with("_share") {
                "share"
            } else {
                "value"
            };
            self.row("", name, statistic, x, y, difference(x, y));
        }
    }

    fn spreads(&mut self, a: &Run, b: &Run) -> Vec<DistributionRow> {
        let mut distributions = Vec::new();
        for (name, left, right) in self.both(&a.spreads, &b.spreads, "") {
            for (statistic, q) in [("p50", 0.5), ("p95", 0.95)] {
                // Of a few values p95 is the largest one, and says nothing of others.
                let is_told = |of: &Estimate| q == 0.5 || of.interval.is_some();
                let of_both = quantile(left, q).zip(quantile(right, q));
                if let Some((x, y)) = of_both.filter(|(x, y)| is_told(x) && is_told(y)) {
                    self.row("", name, statistic, &x, &y, difference(&x, &y));
                }
            }
            distributions.extend(distribution(name, left, right, true));
        }
        distributions
    }

    fn courses(&mut self, a: &Run, b: &Run) -> (Vec<DistributionRow>, Vec<SeriesRow>) {
        let (mut distributions, mut series) = (Vec::new(), Vec::new());
        for (name, left, right) in self.both(&a.courses, &b.courses, "") {
            let quantiles: &[(&'static str, f64)] = match name.metric.as_str() {
                "rtt_ms" => &[("p50", 0.5), ("p95", 0.95), ("p99", 0.99)],
                // Of shares the mean is the share of all.
                metric if metric.ends_with("_share") => &[],
                _ => &[("p95", 0.95)],
            };
            if let (Some(x), Some(y)) = (mean_of(left), mean_of(right)) {
                self.row("", name, "mean", &x, &y, difference(&x, &y));
            }
            for (statistic, q) in quantiles {
                if let (Some(x), Some(y)) = (quantile_of(left, *q), quantile_of(right, *q)) {
                    self.row("", name, statistic, &x, &y, difference(&x, &y));
                }
            }
            distributions.extend(distribution(name, &left.all, &right.all, false));
            series.push(series_row(name, left, right));
        }
        series.sort_by(|x, y| {
            (x.topic, &x.metric, &x.subject).cmp(&(y.topic, &y.metric, &y.subject))
        });
        (distributions, series)
    }

    fn tables(&mut self, a: &Run, b: &Run) {
        let only = |x: &Run, y: &Run| {
            let names = x.tables.difference(&y.tables);
            names
                .map(|name| format!("table {name}"))
                .collect::<Vec<_>>()
        };
        self.only[0].extend(only(a, b));
        self.only[1].extend(only(b, a));
    }

    /// What both have; what one has is noted.
    fn both<'m, T>(
        &mut self,
        a: &'m BTreeMap<Name, T>,
        b: &'m BTreeMap<Name, T>,
        point: &str,
    ) -> Vec<(&'m Name, &'m T, &'m T)> {
        for (side, (own, others)) in [(a, b), (b, a)].into_iter().enumerate() {
            let alone = own.keys().filter(|name| !others.contains_key(name));
            let alone = alone.map(|Name { subject, metric }| match point {
                "" => format!("{subject} {metric}"),
                point => format!("{subject} {metric} at {point}"),
            });
            self.only[side].extend(alone);
        }
        let found = a
            .iter()
            .filter_map(|(name, x)| Some((name, x, b.get(name)?)));
        found.collect()
    }

    fn row(
        &mut self,
        point: &str,
        name: &Name,
        statistic: &'static str,
        a: &Estimate,
        b: &Estimate,
        difference: Difference,
    ) {
        let Name { subject, metric } = name;
        let meaning = meaning(metric);
        let own = self
            .tolerances
            .iter()
            .rev()
            .filter(|one| one.speaks_of(subject, metric));
        let margin = own.filter_map(|one| one.margin(a.value)).next();
        let margin = margin.unwrap_or_else(|| meaning.margin.of(a.value, b.value));
        // Two estimates alike in all are one: whatever the noise, there is no difference to doubt.
        let outcome = match a == b {
            true => Outcome::Same,
            false => outcome(&difference, margin, meaning.goal),
        };
        let ends = |[low, high]: [f64; 2]| Interval { low, high };
        let side = |estimate: &Estimate| Side {
            value: estimate.value,
            interval: estimate.interval.map(ends),
            count: estimate.count,
        };
        let relative = difference.value / a.value.abs();
        self.rows.push(Row {
            topic: meaning.topic,
            point: point.to_owned(),
            subject: subject.clone(),
            metric: metric.clone(),
            statistic,
            unit: unit(metric).to_owned(),
            goal: meaning.goal,
            is_key: meaning.is_key,
            a: side(a),
            b: side(b),
            difference: difference.value,
            interval: difference.interval.map(ends),
            relative: Some(relative).filter(|share| share.is_finite()),
            margin,
            noise: difference.noise,
            outcome,
        });
    }
}

fn outcome(difference: &Difference, margin: f64, goal: Goal) -> Outcome {
    let matters = difference.value.abs() > margin;
    let differs = match (goal, difference.value > 0.0) {
        (Goal::Neither, _) => Outcome::Changed,
        (Goal::More, true) | (Goal::Less, false) => Outcome::Better,
        (Goal::More, false) | (Goal::Less, true) => Outcome::Worse,
    };
    match difference.interval {
        Some([low, high]) if low <= 0.0 && high >= 0.0 => {
            let is_small = low >= -margin && high <= margin;
            if is_small {
                Outcome::Same
            } else {
                Outcome::CannotTell
            }
        }
        _ if matters => differs,
        _ => Outcome::Same,
    }
}

fn mean_of(course: &Course) -> Option<Estimate> {
    let blocks: Vec<_> = course
        .blocks()
        .map(|block| (block.sum, block.values.count() as f64))
        .collect();
    mean_of_blocks(&blocks)
}

fn quantile_of(course: &Course, q: f64) -> Option<Estimate> {
    let blocks: Vec<_> = course.blocks().map(|block| &block.values).collect();
    quantile_of_blocks(&course.all, &blocks, q)
}

fn distribution(
    name: &Name,
    a: &LogHistogram,
    b: &LogHistogram,
    is_independent: bool,
) -> Option<DistributionRow> {
    let likeness = likeness(a, b)?;
    let curve = |values: &LogHistogram| {
        let thin = Cdf::of(values).thinned(CURVE_PARTS);
        thin.points()
            .iter()
            .map(|point| (point.value, point.share))
            .collect()
    };
    Some(DistributionRow {
        topic: meaning(&name.metric).topic,
        subject: name.subject.clone(),
        metric: name.metric.clone(),
        unit: unit(&name.metric).to_owned(),
        count_a: a.count(),
        count_b: b.count(),
        quantiles_a: a.quantiles(DistributionRow::QUANTILES)?,
        quantiles_b: b.quantiles(DistributionRow::QUANTILES)?,
        ks: likeness.ks,
        ks_p: is_independent.then_some(likeness.ks_p),
        delta: likeness.delta,
        mann_whitney_p: is_independent.then_some(likeness.mw_p),
        curves: [curve(a), curve(b)],
    })
}
