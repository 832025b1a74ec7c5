//! The curves of a panel.

use crate::evidence::{Evidence, EvidencePoint, Runs};
use crate::figure::{Axis, Panel, PanelKind, Series};
use crate::quantity::{Quantity, Spread};
use crate::unit::Unit;
use std::collections::BTreeMap;
use unbloat_stats::quantile;

/// Points of a curve; of more samples the largest of each stretch is kept, so that no peak is lost.
const POINTS: usize = 600;
/// Bins of [`PanelKind::Binned`].
const BINS: usize = 20;

/// A panel with its curves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawn {
    pub curves: Vec<Curve>,
    /// Names at 0, 1, 2 ... of the x axis, if it has names.
    pub ticks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pub name: String,
    pub points: Vec<CurvePoint>,
}

/// In the units of the axes. `low` and `high` are the extremes over repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    pub x: f64,
    pub y: f64,
    pub low: f64,
    pub high: f64,
}

/// Draws a panel. A curve that the runs cannot fill is empty.
pub fn draw(panel: &Panel, evidence: &Runs<'_>) -> Drawn {
    let mut drawn = Drawn {
        curves: Vec::new(),
        ticks: Vec::new(),
    };
    for series in &panel.series {
        let of_series = match evidence.get(&series.run) {
            _ if !series.points.is_empty() => {
                vec![listed(panel, series, evidence, &mut drawn.ticks)]
            }
            Some(found) => from_run(panel, series, found, &mut drawn.ticks),
            None => vec![Curve::empty(series)],
        };
        drawn.curves.extend(of_series);
    }
    drawn
}

/// Adds the curves of a reader's own run to a panel; returns how many. Series of one name become one curve: a campaign has the same
/// result under several loads.
pub fn lay_over(panel: &Panel, own: &Evidence, drawn: &mut Drawn) -> usize {
    let runs = Runs::from([(String::new(), own)]);
    let mut added: Vec<Curve> = Vec::new();
    for series in &panel.own {
        let curves = match series.points.is_empty() {
            true => from_run(panel, series, own, &mut drawn.ticks),
            false => vec![listed(panel, series, &runs, &mut drawn.ticks)],
        };
        for curve in curves.into_iter().filter(|curve| !curve.points.is_empty()) {
            match added.iter_mut().find(|known| known.name == curve.name) {
                Some(known) => known.points.extend(curve.points),
                None => added.push(curve),
            }
        }
    }
    let count = added.len();
    drawn.curves.extend(added);
    count
}

impl Curve {
    fn empty(series: &Series) -> Curve {
        Curve {
            name: series.name.clone().unwrap_or_default(),
            points: Vec::new(),
        }
    }
}

/// One curve, or one for each value of the key `each`.
fn from_run(
    panel: &Panel,
    series: &Series,
    evidence: &Evidence,
    ticks: &mut Vec<String>,
) -> Vec<Curve> {
    let mut curve = |name: String, at: &BTreeMap<String, String>| {
        let points = match (&series.result, &series.table) {
            (Some(result), _) => swept(panel, series, result, at, evidence, ticks),
            (None, Some(table)) => {
                let first = evidence.at(at).next();
                first.map_or_else(Vec::new, |point| {
                    of_table(panel, series, table, point, ticks)
                })
            }
            (None, None) => Vec::new(),
        };
        Curve { name, points }
    };
    let Some(each) = &series.each else {
        return vec![curve(series.name.clone().unwrap_or_default(), &series.at)];
    };
    let values = evidence.values_of(each).into_iter();
    let curves = values.map(|value| {
        let mut at = series.at.clone();
        at.insert(each.clone(), value.to_owned());
        let name = series.names.get(value).cloned();
        curve(name.unwrap_or_else(|| value.to_owned()), &at)
    });
    curves.collect()
}

/// A result over a swept key.
fn swept(
    panel: &Panel,
    series: &Series,
    result: &str,
    at: &BTreeMap<String, String>,
    evidence: &Evidence,
    ticks: &mut Vec<String>,
) -> Vec<CurvePoint> {
    let Some(key) = &series.x else {
        return Vec::new();
    };
    let quantity = Quantity {
        result: Some(result.to_owned()),
        ..Quantity::default()
    };
    let points = evidence.at(at).filter_map(|point| {
        let text = point.values.get(key)?;
        let shown = series.names.get(text).unwrap_or(text);
        let x = place(&panel.x, shown, ticks)?;
        let values = quantity.values_at(point)?;
        if let Some(changed) = &series.change_from {
            let mut first = point.values.clone();
            first.extend(changed.clone());
            let before = quantity.values_at(evidence.at(&first).next()?)?;
            let pairs = values.iter().zip(&before);
            let changes: Vec<f64> = pairs.map(|(a, b)| 100.0 * (a / b - 1.0)).collect();
            return CurvePoint::of(x, Spread::of(&changes)?);
        }
        let values = values.into_iter();
        let values: Option<Vec<f64>> = values
            .map(|value| panel.y.unit.convert(result, value))
            .collect();
        CurvePoint::of(x, Spread::of(&values?)?)
    });
    points.collect()
}

/// Where a value stands on the x axis: a number, or the position of a name.
fn place(axis: &Axis, text: &str, ticks: &mut Vec<String>) -> Option<f64> {
    if axis.unit != Unit::Name {
        return axis.unit.parse(text);
    }
    let known = ticks.iter().position(|tick| tick == text);
    let index = known.unwrap_or_else(|| {
        ticks.push(text.to_owned());
        ticks.len() - 1
    });
    Some(index as f64)
}

fn listed(panel: &Panel, series: &Series, evidence: &Runs<'_>, ticks: &mut Vec<String>) -> Curve {
    let points = series.points.iter().filter_map(|named| {
        let x = place(&panel.x, &named.name, ticks)?;
        CurvePoint::of(x, named.quantity.of(evidence, panel.y.unit)?)
    });
    Curve {
        name: series.name.clone().unwrap_or_default(),
        points: points.collect(),
    }
}

fn of_table(
    panel: &Panel,
    series: &Series,
    table: &str,
    point: &EvidencePoint,
    ticks: &mut Vec<String>,
) -> Vec<CurvePoint> {
    let Some(x) = &series.x else {
        return Vec::new();
    };
    if panel.kind == PanelKind::Cdf {
        if let Some(reference) = &series.reference {
            let errors = point.errors(table, x, [&series.only, reference], series.from_s);
            return distribution(errors.unwrap_or_default());
        }
        let rows = point.rows(table, [x], &series.only).unwrap_or_default();
        let values = rows
            .into_iter()
            .map(|[value]| panel.x.unit.convert(x, value));
        return distribution(values.collect::<Option<_>>().unwrap_or_default());
    }
    let Some(y) = &series.y else {
        return Vec::new();
    };
    if panel.x.unit == Unit::Name {
        let rows = point.named_rows(table, [x, y], &series.only);
        let points = rows.into_iter().flatten().filter_map(|(name, value)| {
            let at = place(&panel.x, &name, ticks)?;
            Some(CurvePoint::exact(at, panel.y.unit.convert(y, value)?))
        });
        return points.collect();
    }
    let rows = point.rows(table, [x, y], &series.only).unwrap_or_default();
    let convert =
        |[a, b]: [f64; 2]| Some((panel.x.unit.convert(x, a)?, panel.y.unit.convert(y, b)?));
    let points: Vec<(f64, f64)> = rows.into_iter().filter_map(convert).collect();
    match panel.kind {
        PanelKind::Binned => binned(&points),
        _ => thinned(&points),
    }
}

impl CurvePoint {
    fn exact(x: f64, y: f64) -> CurvePoint {
        CurvePoint {
            x,
            y,
            low: y,
            high: y,
        }
    }

    fn of(x: f64, spread: Spread) -> Option<CurvePoint> {
        let point = CurvePoint {
            x,
            y: spread.mean,
            low: spread.low,
            high: spread.high,
        };
        (x.is_finite() && point.y.is_finite()).then_some(point)
    }
}

/// The share of values up to each.
fn distribution(mut values: Vec<f64>) -> Vec<CurvePoint> {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let step = count.div_ceil(POINTS).max(1);
    let ranks = (0..count).filter(|rank| (rank + 1) % step == 0 || rank + 1 == count);
    ranks
        .map(|rank| CurvePoint::exact(values[rank], (rank + 1) as f64 / count as f64))
        .collect()
}

/// Means over equal stretches of x, with the 5th and 95th percentile as extremes.
fn binned(points: &[(f64, f64)]) -> Vec<CurvePoint> {
    let most = points.iter().map(|point| point.0).fold(0.0, f64::max);
    let mut bins = vec![Vec::new(); BINS];
    for (x, y) in points {
        let bin = (x / most * BINS as f64) as usize;
        bins[bin.min(BINS - 1)].push(*y);
    }
    let width = most / BINS as f64;
    let filled = bins
        .into_iter()
        .enumerate()
        .filter_map(|(bin, mut values)| {
            Some(CurvePoint {
                x: (bin as f64 + 0.5) * width,
                y: values.iter().sum::<f64>() / values.len() as f64,
                low: quantile(&mut values, 0.05)?,
                high: quantile(&mut values, 0.95)?,
            })
        });
    filled.collect()
}

/// At most [`POINTS`] points; of the samples of a stretch the one with the largest y.
fn thinned(points: &[(f64, f64)]) -> Vec<CurvePoint> {
    let step = points.len().div_ceil(POINTS).max(1);
    let kept = points.chunks(step).filter_map(|stretch| {
        let largest = stretch.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(CurvePoint::exact(largest.0, largest.1))
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_rises_to_one_however_many_values_it_has() {
        for count in [1, 5, 10_000] {
            let curve = distribution((0..count).rev().map(f64::from).collect());
            assert_eq!(curve.last().unwrap().y, 1.0);
            assert_eq!(curve.last().unwrap().x, f64::from(count - 1));
            assert!(curve.len() <= POINTS + 1);
            assert!(curve.is_sorted_by(|a, b| a.x <= b.x && a.y <= b.y));
        }
    }

    #[test]
    fn thinning_keeps_the_peak() {
        let points: Vec<(f64, f64)> = (0..10_000)
            .map(|i| (f64::from(i), if i == 7_777 { 9.0 } else { 1.0 }))
            .collect();
        let thin = thinned(&points);
        assert!(thin.len() <= POINTS);
        assert!(
            thin.iter()
                .any(|point| (point.x, point.y) == (7_777.0, 9.0))
        );
    }

    #[test]
    fn bins_hold_means() {
        let points: Vec<(f64, f64)> = (1..=100)
            .map(|i| (f64::from(i), 2.0 * f64::from(i)))
            .collect();
        for point in binned(&points) {
            assert!((point.y - 2.0 * point.x).abs() <= 6.0, "{point:?}");
        }
    }
}
