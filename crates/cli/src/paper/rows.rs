//! The tables of a run of `unbloat paper`.

use unbloat_api::experiment::order;
use unbloat_paper::Made;
use unbloat_table::{Column, Rows, Table};

pub fn tables() -> [Table; 4] {
    [
        verdicts_table(),
        claims_table(),
        curves_table(),
        effects_table(),
    ]
}

fn named(mut columns: Vec<Column>) -> Vec<Column> {
    let mut all = vec![
        Column::text("paper", "name of the paper's folder"),
        Column::text("figure", "name of the figure or table"),
    ];
    all.append(&mut columns);
    all
}

fn verdicts_table() -> Table {
    Table {
        name: "verdicts",
        doc: "one row per figure or table of a paper (unbloat paper)",
        columns: named(vec![
            Column::text("title", "what it shows"),
            Column::text(
                "verdict",
                "agrees (all claims hold), shape agrees (bounds, orders and signs hold, a value does not), differs, drawn (the paper gives nothing to compare with) or not made",
            ),
            Column::u64("claims", "statements of the paper that were checked"),
            Column::u64("held", "those that hold"),
            Column::text("because", "why it differs, or why it is not made"),
        ]),
    }
}

fn claims_table() -> Table {
    Table {
        name: "claims",
        doc: "one row per statement of a paper (unbloat paper)",
        columns: named(vec![
            Column::text("says", "the statement"),
            Column::text("place", "section and page of the paper"),
            Column::text("kind", "value, bound, sign or order"),
            Column::bool(
                "tests_analysis",
                "the runs were given this number, or it compares the analysis with what happened",
            ),
            Column::text("unit", "unit of the numbers"),
            Column::f64("published", "published value; null for bounds and orders"),
            Column::f64("above", "published lower bound"),
            Column::f64("below", "published upper bound"),
            Column::f64("ours", "mean over repeats; null if no run has it"),
            Column::f64("low", "smallest of the repeats"),
            Column::f64("high", "largest of the repeats"),
            Column::bool(
                "holds",
                "whether it holds, by the rule of the kind; null if a run that it needs was not possible",
            ),
        ]),
    }
}

fn curves_table() -> Table {
    Table {
        name: "curves",
        doc: "one row per point of a drawn curve (unbloat paper)",
        columns: named(vec![
            Column::text("panel", "a, b ...; empty for a figure of one panel"),
            Column::text("series", "name of the curve, as in the paper's legend"),
            Column::text("x_unit", "unit of x; empty for plain numbers and names"),
            Column::text("y_unit", "unit of y"),
            Column::text("x_name", "what stands at x, if the axis has names"),
            Column::f64("x", "abscissa"),
            Column::f64("y", "mean over repeats"),
            Column::f64("low", "smallest of the repeats"),
            Column::f64("high", "largest of the repeats"),
        ]),
    }
}

fn effects_table() -> Table {
    Table {
        name: "effects",
        doc: "one row per other value of a parameter that a paper does not give (unbloat paper)",
        columns: named(vec![
            Column::text("parameter", "the parameter"),
            Column::text("assumed", "value of the drawn curves"),
            Column::text("value", "another value"),
            Column::text("unit", "unit of the result"),
            Column::f64("ours", "result with it"),
        ]),
    }
}

/// All tables with their rows.
pub fn all(made: &[Made]) -> Vec<(Table, Rows)> {
    let fill: [fn(&mut Rows, &Made); 4] = [verdict_row, claim_rows, curve_rows, effect_rows];
    let filled = tables().into_iter().zip(fill).map(|(table, fill)| {
        let mut rows = Rows::new(&table);
        made.iter().for_each(|one| fill(&mut rows, one));
        (table, rows)
    });
    filled.collect()
}

fn verdict_row(rows: &mut Rows, made: &Made) {
    let (figure, judged) = (made.figure, &made.judged);
    let mut row = rows.row(order(rows.len() as u64));
    row.text(made.paper.id.as_str());
    row.text(figure.id.as_str());
    row.text(figure.title.as_str());
    row.text(judged.verdict.name());
    let (held, claims) = made.held();
    row.u64(claims as u64);
    row.u64(held as u64);
    row.text(made.because());
}

fn claim_rows(rows: &mut Rows, made: &Made) {
    for (claim, judgement) in made.figure.claims.iter().zip(&made.judged.claims) {
        let mut row = rows.row(order(rows.len() as u64));
        row.text(made.paper.id.as_str());
        row.text(made.figure.id.as_str());
        row.text(claim.says.as_str());
        row.text(claim.place.as_deref().unwrap_or(&made.figure.place));
        row.text(judgement.kind.name());
        row.bool(judgement.tests_analysis);
        row.text(claim.unit.name());
        row.f64(claim.value);
        row.f64(claim.above);
        row.f64(claim.below);
        row.f64(judgement.ours.map(|ours| ours.mean));
        row.f64(judgement.ours.map(|ours| ours.low));
        row.f64(judgement.ours.map(|ours| ours.high));
        row.bool(judgement.holds);
    }
}

fn curve_rows(rows: &mut Rows, made: &Made) {
    for (panel, drawn) in made.figure.panels.iter().zip(&made.drawn) {
        for curve in &drawn.curves {
            for point in &curve.points {
                let mut row = rows.row(order(rows.len() as u64));
                row.text(made.paper.id.as_str());
                row.text(made.figure.id.as_str());
                row.text(panel.id.as_str());
                row.text(curve.name.as_str());
                row.text(panel.x.unit.name());
                row.text(panel.y.unit.name());
                row.text(drawn.ticks.get(point.x as usize).map(String::as_str));
                row.f64(point.x);
                row.f64(point.y);
                row.f64(point.low);
                row.f64(point.high);
            }
        }
    }
}

fn effect_rows(rows: &mut Rows, made: &Made) {
    for (assumption, effects) in made.figure.assumptions.iter().zip(&made.judged.effects) {
        let unit = assumption.effect.as_ref().map(|effect| effect.unit.name());
        for effect in effects {
            let mut row = rows.row(order(rows.len() as u64));
            row.text(made.paper.id.as_str());
            row.text(made.figure.id.as_str());
            row.text(assumption.parameter.as_str());
            row.text(assumption.value.as_str());
            row.text(effect.value.as_str());
            row.text(unit);
            row.f64(effect.ours.map(|ours| ours.mean));
        }
    }
}
