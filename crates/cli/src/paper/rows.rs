//! The tables of a run of `unbloat paper`.

use unbloat_paper::Made;
use unbloat_table::{Row, Rows, Table, columns};

columns! {
    pub struct FigureColumns<'a> {
        paper: &'a str = "name of the paper's folder",
        figure: &'a str = "name of the figure or table",
    }

    pub struct VerdictRow<'a>: verdicts = "one row per figure or table of a paper (unbloat paper)" {
        of: FigureColumns<'a>,
        title: &'a str = "what it shows",
        verdict: &'a str = "agrees (all claims hold), shape agrees (bounds, orders and signs hold, a value does not), differs, drawn (the paper gives nothing to compare with) or not made",
        claims: usize = "statements of the paper that were checked",
        held: usize = "those that hold",
        because: Option<&'a str> = "why it differs, or why it is not made",
    }

    pub struct ClaimRow<'a>: claims = "one row per statement of a paper (unbloat paper)" {
        of: FigureColumns<'a>,
        says: &'a str = "the statement",
        place: &'a str = "section and page of the paper",
        kind: &'a str = "value, bound, sign or order",
        tests_analysis: bool = "the runs were given this number, or it compares the analysis with what happened",
        unit: &'a str = "unit of the numbers",
        published: Option<f64> = "published value; null for bounds and orders",
        above: Option<f64> = "published lower bound",
        below: Option<f64> = "published upper bound",
        ours: Option<f64> = "mean over repeats; null if no run has it",
        low: Option<f64> = "smallest of the repeats",
        high: Option<f64> = "largest of the repeats",
        holds: Option<bool> = "whether it holds, by the rule of the kind; null if a run that it needs was not possible",
    }

    pub struct CurveRow<'a>: curves = "one row per point of a drawn curve (unbloat paper)" {
        of: FigureColumns<'a>,
        panel: &'a str = "a, b ...; empty for a figure of one panel",
        series: &'a str = "name of the curve, as in the paper's legend",
        x_unit: &'a str = "unit of x; empty for plain numbers and names",
        y_unit: &'a str = "unit of y",
        x_name: Option<&'a str> = "what stands at x, if the axis has names",
        x: f64 = "abscissa",
        y: f64 = "mean over repeats",
        low: f64 = "smallest of the repeats",
        high: f64 = "largest of the repeats",
    }

    pub struct EffectRow<'a>: effects = "one row per other value of a parameter that a paper does not give (unbloat paper)" {
        of: FigureColumns<'a>,
        parameter: &'a str = "the parameter",
        assumed: &'a str = "value of the drawn curves",
        value: &'a str = "another value",
        unit: Option<&'a str> = "unit of the result",
        ours: Option<f64> = "result with it",
    }
}

pub fn tables() -> [Table; 4] {
    [
        VerdictRow::table(),
        ClaimRow::table(),
        CurveRow::table(),
        EffectRow::table(),
    ]
}

/// All tables with their rows.
pub fn all(made: &[Made]) -> Vec<(Table, Rows)> {
    vec![
        VerdictRow::filled(made.iter().map(verdict_row)),
        ClaimRow::filled(made.iter().flat_map(claim_rows)),
        CurveRow::filled(made.iter().flat_map(curve_rows)),
        EffectRow::filled(made.iter().flat_map(effect_rows)),
    ]
}

fn of<'a>(made: &'a Made) -> FigureColumns<'a> {
    FigureColumns {
        paper: &made.paper.id,
        figure: &made.figure.id,
    }
}

fn verdict_row<'a>(made: &'a Made) -> VerdictRow<'a> {
    let (held, claims) = made.held();
    VerdictRow {
        of: of(made),
        title: &made.figure.title,
        verdict: made.judged.verdict.name(),
        claims,
        held,
        because: made.because(),
    }
}

fn claim_rows<'a>(made: &'a Made) -> impl Iterator<Item = ClaimRow<'a>> {
    let claims = made.figure.claims.iter().zip(&made.judged.claims);
    claims.map(|(claim, judgement)| ClaimRow {
        of: of(made),
        says: &claim.says,
        place: claim.place.as_deref().unwrap_or(&made.figure.place),
        kind: judgement.kind.name(),
        tests_analysis: judgement.tests_analysis,
        unit: claim.unit.name(),
        published: claim.value,
        above: claim.above,
        below: claim.below,
        ours: judgement.ours.map(|ours| ours.mean),
        low: judgement.ours.map(|ours| ours.low),
        high: judgement.ours.map(|ours| ours.high),
        holds: judgement.holds,
    })
}

fn curve_rows<'a>(made: &'a Made) -> Vec<CurveRow<'a>> {
    let mut rows = Vec::new();
    for (panel, drawn) in made.figure.panels.iter().zip(&made.drawn) {
        for curve in &drawn.curves {
            rows.extend(curve.points.iter().map(|point| CurveRow {
                of: of(made),
                panel: &panel.id,
                series: &curve.name,
                x_unit: panel.x.unit.name(),
                y_unit: panel.y.unit.name(),
                x_name: drawn.ticks.get(point.x as usize).map(String::as_str),
                x: point.x,
                y: point.y,
                low: point.low,
                high: point.high,
            }));
        }
    }
    rows
}

fn effect_rows<'a>(made: &'a Made) -> Vec<EffectRow<'a>> {
    let mut rows = Vec::new();
    for (assumption, effects) in made.figure.assumptions.iter().zip(&made.judged.effects) {
        rows.extend(effects.iter().map(|effect| EffectRow {
            of: of(made),
            parameter: &assumption.parameter,
            assumed: &assumption.value,
            value: &effect.value,
            unit: assumption.effect.as_ref().map(|other| other.unit.name()),
            ours: effect.ours.map(|ours| ours.mean),
        }));
    }
    rows
}
