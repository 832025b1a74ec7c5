//! What `unbloat paper --json` prints, and `paper.json` of its run folder.

use schemars::JsonSchema;
use serde::Serialize;
use unbloat_paper::{Claim, Judgement, Made, Panel, Spread, Unit};

/// Figures and tables of papers, made again and compared with what was published.
#[derive(Serialize, JsonSchema)]
pub struct Document {
    figures: Vec<FigureOut>,
}

#[derive(Serialize, JsonSchema)]
struct FigureOut {
    /// Name of the paper's folder.
    paper: String,
    /// Name of the figure or table.
    figure: String,
    /// As in the paper: "Figure 9".
    label: String,
    title: String,
    /// Section and page of the paper.
    place: String,
    /// agrees, shape agrees, differs, drawn, not run or not made.
    verdict: &'static str,
    /// Why it differs or is not made.
    because: Option<String>,
    claims: Vec<ClaimOut>,
    panels: Vec<PanelOut>,
    assumptions: Vec<AssumptionOut>,
    /// What casts doubt on its runs.
    notes: Vec<String>,
    /// Its runs that were not possible.
    left_out: Vec<String>,
}

/// A statement of the paper.
#[derive(Serialize, JsonSchema)]
struct ClaimOut {
    says: String,
    place: Option<String>,
    /// value, bound, sign or order.
    kind: &'static str,
    /// The runs were given this number, or it compares the analysis with what happened.
    tests_analysis: bool,
    unit: &'static str,
    /// Published value.
    published: Option<f64>,
    /// Published bounds.
    above: Option<f64>,
    below: Option<f64>,
    /// None: no run has it.
    ours: Option<SpreadOut>,
    /// What an order compares with.
    others: Vec<SpreadOut>,
    /// None: a run that it needs was not possible.
    holds: Option<bool>,
}

/// Mean and extremes over repeats.
#[derive(Serialize, JsonSchema)]
struct SpreadOut {
    mean: f64,
    low: f64,
    high: f64,
}

#[derive(Serialize, JsonSchema)]
struct PanelOut {
    /// a, b ...; empty for a figure of one panel.
    panel: String,
    title: String,
    x_label: String,
    x_unit: &'static str,
    y_label: String,
    y_unit: &'static str,
    /// What stands at 0, 1, 2 ... of an axis with names.
    x_names: Vec<String>,
    series: Vec<SeriesOut>,
}

#[derive(Serialize, JsonSchema)]
struct SeriesOut {
    name: String,
    x: Vec<f64>,
    /// Means over repeats.
    y: Vec<f64>,
    /// Smallest and largest of the repeats.
    low: Vec<f64>,
    high: Vec<f64>,
}

/// A parameter that the paper does not give.
#[derive(Serialize, JsonSchema)]
struct AssumptionOut {
    parameter: String,
    value: String,
    why: String,
    unit: &'static str,
    /// What other values of it do.
    effects: Vec<EffectOut>,
}

#[derive(Serialize, JsonSchema)]
struct EffectOut {
    value: String,
    ours: Option<f64>,
}

impl Document {
    pub fn of(made: &[Made]) -> Document {
        Document {
            figures: made.iter().map(figure).collect(),
        }
    }
}

fn figure(made: &Made) -> FigureOut {
    let (figure, judged) = (made.figure, &made.judged);
    let claims = figure.claims.iter().zip(&judged.claims);
    let assumptions = figure.assumptions.iter().zip(&judged.effects);
    FigureOut {
        paper: made.paper.id.clone(),
        figure: figure.id.clone(),
        label: figure.label.clone(),
        title: figure.title.clone(),
        place: figure.place.clone(),
        verdict: judged.verdict.name(),
        because: made.because().map(str::to_owned),
        claims: claims.map(claim).collect(),
        panels: panels(made),
        assumptions: assumptions
            .map(|(assumption, effects)| AssumptionOut {
                parameter: assumption.parameter.clone(),
                value: assumption.value.clone(),
                why: assumption.why.clone(),
                unit: assumption.effect.as_ref().map_or("", |one| one.unit.name()),
                effects: effects
                    .iter()
                    .map(|effect| EffectOut {
                        value: effect.value.clone(),
                        ours: effect.ours.map(|ours| ours.mean),
                    })
                    .collect(),
            })
            .collect(),
        notes: made.notes.clone(),
        left_out: made.left_out.clone(),
    }
}

fn claim((claim, judgement): (&Claim, &Judgement)) -> ClaimOut {
    ClaimOut {
        says: claim.says.clone(),
        place: claim.place.clone(),
        kind: judgement.kind.name(),
        tests_analysis: judgement.tests_analysis,
        unit: claim.unit.name(),
        published: claim.value,
        above: claim.above,
        below: claim.below,
        ours: judgement.ours.map(spread),
        others: judgement.others.iter().copied().map(spread).collect(),
        holds: judgement.holds,
    }
}

fn spread(spread: Spread) -> SpreadOut {
    SpreadOut {
        mean: spread.mean,
        low: spread.low,
        high: spread.high,
    }
}

fn panels(made: &Made) -> Vec<PanelOut> {
    let panels = made.figure.panels.iter().zip(&made.drawn);
    let unit = |unit: Unit| unit.name();
    let panels = panels.map(|(panel, drawn): (&Panel, _)| PanelOut {
        panel: panel.id.clone(),
        title: panel.title.clone(),
        x_label: panel.x.label.clone(),
        x_unit: unit(panel.x.unit),
        y_label: panel.y.label.clone(),
        y_unit: unit(panel.y.unit),
        x_names: drawn.ticks.clone(),
        series: drawn.curves.iter().map(series).collect(),
    });
    panels.collect()
}

fn series(curve: &unbloat_paper::Curve) -> SeriesOut {
    let column = |of: fn(&unbloat_paper::CurvePoint) -> f64| curve.points.iter().map(of).collect();
    SeriesOut {
        name: curve.name.clone(),
        x: column(|point| point.x),
        y: column(|point| point.y),
        low: column(|point| point.low),
        high: column(|point| point.high),
    }
}
