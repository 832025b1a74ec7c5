//! Curves of both runs, on the same axes.

use crate::numbers::five_digits;
use crate::tested::{Mark, heading};
use serde::Serialize;
use std::collections::BTreeMap;
use unbloat_compare::{Comparison, Row};

/// Figures of each kind; key quantities come first.
const MOST: usize = 24;

/// What the page's script draws.
#[derive(Serialize)]
pub(super) struct Figures {
    distributions: Vec<Figure>,
    courses: Vec<Figure>,
    sweeps: Vec<Figure>,
    boxes: Vec<Boxes>,
    stages: Vec<Mark>,
}

/// Percentiles of a delay: 5th, 25th, median, 75th and 95th.
#[derive(Serialize)]
struct Boxes {
    title: String,
    a: [f64; 5],
    b: [f64; 5],
}

#[derive(Serialize)]
struct Figure {
    title: String,
    unit: String,
    a: Curve,
    b: Curve,
    /// What stands at 0, 1, 2 ... of a sweep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ticks: Vec<String>,
}

#[derive(Default, Serialize)]
struct Curve {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Ends of the intervals around `y`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    low: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    high: Vec<f64>,
}

pub(super) fn figures(comparison: &Comparison) -> Figures {
    Figures {
        // Those of a test's stages are its boxes.
        distributions: match comparison.stages.is_empty() {
            true => distributions(comparison),
            false => Vec::new(),
        },
        courses: courses(comparison),
        sweeps: sweeps(comparison),
        boxes: boxes(comparison),
        stages: stages(comparison),
    }
}

fn boxes(comparison: &Comparison) -> Vec<Boxes> {
    let rows = comparison.distributions.iter();
    let delays = rows.filter(|row| row.unit == "ms").take(MOST);
    let quantiles =
        |[_, p5, p25, p50, p75, _, p95, _]: [f64; 8]| [p5, p25, p50, p75, p95].map(five_digits);
    let boxes = delays.map(|row| Boxes {
        title: super::words::of_subject(&row.subject, &row.metric),
        a: quantiles(row.quantiles_a),
        b: quantiles(row.quantiles_b),
    });
    boxes.collect()
}

fn stages(comparison: &Comparison) -> Vec<Mark> {
    let marks = comparison.stages.iter().map(|stage| Mark {
        begin_s: stage.begin_s,
        end_s: stage.end_s,
        name: heading(&stage.load).to_owned(),
    });
    marks.collect()
}

fn distributions(comparison: &Comparison) -> Vec<Figure> {
    let rows = comparison.distributions.iter().take(MOST);
    let figures = rows.map(|row| {
        let [a, b] = row
            .curves
            .each_ref()
            .map(|points| curve(points.iter().copied()));
        figure(&row.subject, &row.metric, &row.unit, a, b)
    });
    figures.collect()
}

fn courses(comparison: &Comparison) -> Vec<Figure> {
    let rows = comparison.series.iter().take(MOST);
    let figures = rows.map(|row| {
        let [a, b] = [&row.a, &row.b].map(|(x, y)| curve(x.iter().copied().zip(y.iter().copied())));
        figure(&row.subject, &row.metric, &row.unit, a, b)
    });
    figures.collect()
}

/// A figure for each key result that was taken at several points.
fn sweeps(comparison: &Comparison) -> Vec<Figure> {
    let mut results: Vec<(&Row, Vec<&Row>)> = Vec::new();
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for row in comparison
        .quantities
        .iter()
        .filter(|row| row.is_key && !row.point.is_empty())
    {
        let place = *places
            .entry((&row.subject, &row.metric))
            .or_insert(results.len());
        match results.get_mut(place) {
            Some((_, rows)) => rows.push(row),
            None => results.push((row, vec![row])),
        }
    }
    results.retain(|(_, rows)| rows.len() > 1);
    let figures = results.into_iter().take(MOST).map(|(first, rows)| {
        let side = |of: fn(&Row) -> unbloat_compare::Side| {
            let mut curve = Curve::default();
            for (row, x) in rows.iter().zip(0_u32..) {
                let side = of(row);
                curve.x.push(f64::from(x));
                curve.y.push(five_digits(side.value));
                let (low, high) = side
                    .interval
                    .map_or((side.value, side.value), |ends| (ends.low, ends.high));
                curve.low.push(five_digits(low));
                curve.high.push(five_digits(high));
            }
            curve
        };
        Figure {
            ticks: rows.iter().map(|row| row.point.clone()).collect(),
            ..figure(
                &first.subject,
                &first.metric,
                &first.unit,
                side(|row| row.a),
                side(|row| row.b),
            )
        }
    });
    figures.collect()
}

fn figure(subject: &str, metric: &str, unit: &str, a: Curve, b: Curve) -> Figure {
    Figure {
        title: super::words::of_subject(subject, metric),
        unit: unit.to_owned(),
        a,
        b,
        ticks: Vec::new(),
    }
}

fn curve(points: impl Iterator<Item = (f64, f64)>) -> Curve {
    let (x, y) = points
        .map(|(x, y)| (five_digits(x), five_digits(y)))
        .unzip();
    Curve {
        x,
        y,
        ..Curve::default()
    }
}
