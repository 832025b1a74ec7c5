//! What the page's script draws.

use crate::numbers::five_digits;
use serde::Serialize;
use unbloat_paper::{Axis, Curve, Made, PanelKind, Unit};

#[derive(Serialize)]
pub(super) struct PanelData {
    /// The element that holds the panel.
    id: String,
    kind: &'static str,
    x: AxisData,
    y: AxisData,
    /// What stands at 0, 1, 2 ... of the x axis, if it has names.
    ticks: Vec<String>,
    curves: Vec<CurveData>,
    marks: Vec<MarkData>,
}

#[derive(Serialize)]
struct AxisData {
    label: String,
    log: bool,
    min: Option<f64>,
    max: Option<f64>,
}

#[derive(Serialize)]
struct CurveData {
    name: String,
    x: Vec<f64>,
    y: Vec<f64>,
    /// Extremes over repeats, if they differ.
    low: Vec<f64>,
    high: Vec<f64>,
}

/// A published number.
#[derive(Serialize)]
struct MarkData {
    /// None: a line across the panel.
    x: Option<f64>,
    y: f64,
    kind: &'static str,
    says: String,
}

pub(super) fn panel_id(made: &Made, number: usize) -> String {
    format!("{}-{number}", made.figure.id)
}

/// All panels of a figure.
pub(super) fn panels<'a>(made: &'a Made) -> impl Iterator<Item = PanelData> + 'a {
    let panels = made.figure.panels.iter().zip(&made.drawn).enumerate();
    let charts = panels.filter(|(_, (panel, _))| panel.kind != PanelKind::Heatmap);
    charts.map(|(number, (panel, drawn))| PanelData {
        id: panel_id(made, number),
        kind: match panel.kind {
            PanelKind::Line => "line",
            PanelKind::Cdf => "cdf",
            PanelKind::Bars | PanelKind::Heatmap => "bars",
            PanelKind::Binned => "binned",
        },
        x: axis(&panel.x),
        y: axis(&panel.y),
        ticks: drawn.ticks.clone(),
        curves: drawn.curves.iter().map(curve).collect(),
        marks: marks(made, &panel.id),
    })
}

fn axis(axis: &Axis) -> AxisData {
    let unit = match axis.unit {
        Unit::Name => "",
        unit => unit.name(),
    };
    AxisData {
        label: super::words::with_label(&axis.label, unit),
        log: axis.log,
        min: axis.min,
        max: axis.max,
    }
}

fn curve(curve: &Curve) -> CurveData {
    let has_spread = curve.points.iter().any(|point| point.low < point.high);
    let column = |of: fn(&unbloat_paper::CurvePoint) -> f64| -> Vec<f64> {
        curve
            .points
            .iter()
            .map(|point| five_digits(of(point)))
            .collect()
    };
    let spread = |of| match has_spread {
        true => column(of),
        false => Vec::new(),
    };
    CurveData {
        name: curve.name.clone(),
        x: column(|point| point.x),
        y: column(|point| point.y),
        low: spread(|point| point.low),
        high: spread(|point| point.high),
    }
}

fn marks(made: &Made, panel: &str) -> Vec<MarkData> {
    let mut marks = Vec::new();
    for claim in &made.figure.claims {
        let Some(mark) = claim.mark.as_ref().filter(|mark| mark.panel == panel) else {
            continue;
        };
        let given = [
            ("value", claim.value),
            ("above", claim.above),
            ("below", claim.below),
        ];
        marks.extend(given.into_iter().filter_map(|(kind, y)| {
            Some(MarkData {
                x: mark.x,
                y: y?,
                kind,
                says: claim.says.clone(),
            })
        }));
    }
    marks
}
