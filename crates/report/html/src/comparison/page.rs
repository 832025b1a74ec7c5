//! A comparison as one self-contained HTML file.

use super::figures::figures;
use super::words::{
    comparison_headline, difference, judgement, name, of_subject, question, relative, says, tally,
    topic, value,
};
use crate::ReportError;
use crate::html::{SCRIPTLESS, ZOOM, list, script_json, warnings, write_document};
use crate::numbers::{human, three_digits};
use maud::{Markup, html};
use std::io::{self, Write};
use unbloat_compare::{Comparison, DistributionRow, Outcome, Overall, Row};

const SCRIPT: &str = concat!(
    include_str!("../../assets/common.js"),
    include_str!("../../assets/compare.js")
);

/// Rows of the list of everything.
const MOST_ROWS: usize = 2_000;

/// Tiles of the verdict.
const TILES: usize = 4;

/// Writes the page of two runs side by side.
pub fn render_comparison(comparison: &Comparison, out: &mut dyn Write) -> Result<(), ReportError> {
    let json = script_json(&figures(comparison)).map_err(io::Error::from)?;
    let title = format!("unbloat: {} and {}", comparison.a, comparison.b);
    Ok(write_document(
        out,
        &title,
        body(comparison),
        &json,
        SCRIPT,
    )?)
}

fn body(comparison: &Comparison) -> Markup {
    html! {
        main.comparison {
            (header(comparison))
            (verdict(comparison))
            (warnings(comparison.cautions.iter().map(String::as_str)))
            (judgements(comparison))
            // What tests did is a few curves; of simulations there are many.
            @if !comparison.stages.is_empty() { (curves()) }
            (key_numbers(comparison))
            (conditions(comparison))
            @if comparison.stages.is_empty() { (curves()) }
            (everything(comparison))
            (distributions(comparison))
            (only(comparison))
            (method())
        }
    }
}

fn curves() -> Markup {
    html! {
        section #figures-section {
            h2 { "Curves" }
            p.note { "Both runs on the same axes. " (ZOOM) }
            div #figures {}
            noscript {
                p { (SCRIPTLESS) }
            }
        }
    }
}

fn header(comparison: &Comparison) -> Markup {
    let sides = [("a", "A", &comparison.a), ("b", "B", &comparison.b)];
    html! {
        header {
            h1 { "unbloat" }
            @for ((class, letter, run), verdict) in sides.into_iter().zip(&comparison.verdicts) {
                p {
                    b class=(class) { (letter) } " " (run)
                    @if let Some(verdict) = verdict { ": " span.note { (verdict) } }
                }
            }
        }
    }
}

fn verdict(comparison: &Comparison) -> Markup {
    let class = match comparison.verdict.overall {
        Overall::Better | Overall::Same => "clean",
        Overall::Worse => "bloated",
        _ => "inconclusive",
    };
    let leading = comparison.verdict.leading.iter();
    let leading: Vec<&Row> = leading
        .filter_map(|index| comparison.quantities.get(*index))
        .take(TILES)
        .collect();
    html! {
        section.card.verdict.(class) {
            h2 { (comparison_headline(comparison)) }
            @if !leading.is_empty() {
                div.tiles { @for row in leading { (tile(row)) } }
            }
            p.note {
                (tally(&comparison.verdict.all)) ". "
                @if comparison.verdict.all.unrepeated > 0 { (question(comparison)) }
            }
        }
    }
}

fn tile(row: &Row) -> Markup {
    let change = match relative(row).as_str() {
        "" => difference(row.difference, &row.unit),
        share => share.replace('x', "×"),
    };
    html! {
        div {
            b class=(row.outcome.name()) { (change) }
            span {
                (name(row)) br; (value(row.a.value, row)) " → " (value(row.b.value, row))
            }
        }
    }
}

fn judgements(comparison: &Comparison) -> Markup {
    html! {
        @if !comparison.judgements.is_empty() {
            section {
                h2 { "Tolerances" }
                ul.judgements {
                    @for one in &comparison.judgements {
                        li class=(if one.holds { "better" } else { "worse" }) { (judgement(one)) }
                    }
                }
            }
        }
    }
}

fn key_numbers(comparison: &Comparison) -> Markup {
    let rows: Vec<&Row> = comparison
        .quantities
        .iter()
        .filter(|row| row.is_key)
        .collect();
    html! {
        @if !rows.is_empty() {
            section {
                h2 { "What matters" }
                p.note {
                    "Bars: the difference and the interval in which it lies with 95 % confidence; within the grey band it does not matter."
                }
                (quantities(&rows))
            }
        }
    }
}

fn everything(comparison: &Comparison) -> Markup {
    let rows: Vec<&Row> = comparison
        .quantities
        .iter()
        .filter(|row| !row.is_key)
        .take(MOST_ROWS)
        .collect();
    html! {
        @if !rows.is_empty() {
            section {
                details {
                    summary { "All other quantities (" (rows.len()) ")" }
                    (quantities(&rows))
                }
            }
        }
    }
}

fn quantities(rows: &[&Row]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Quantities" {
            table.quantities {
                thead {
                    tr {
                        th scope="col" { "quantity" } th scope="col" { "A" } th scope="col" { "B" } th scope="col" { "B − A" } th scope="col" { "change" } th scope="col" { "interval" } th.text scope="col" { "judged" }
                    }
                }
                tbody {
                    @for group in rows.chunk_by(|one, next| one.topic == next.topic) {
                        @if let Some(first) = group.first() {
                            tr.topic { th scope="colgroup" colspan="7" { (topic(first.topic)) } }
                        }
                        @for row in group { (quantity_row(row)) }
                    }
                }
            }
        }
    }
}

fn quantity_row(row: &Row) -> Markup {
    html! {
        tr {
            th scope="row" { (name(row)) }
            td { (side(row.a, row)) }
            td { (side(row.b, row)) }
            td { (difference(row.difference, &row.unit)) }
            td { (relative(row).replace('x', "×")) }
            td.bar { (bar(row)) }
            td.text.(row.outcome.name()) { (says(row)) }
        }
    }
}

/// A value, with its interval and what that rests on when pointed at.
fn side(side: unbloat_compare::Side, row: &Row) -> Markup {
    let interval = side.interval.map_or(String::new(), |ends| {
        format!("{} to {}, ", value(ends.low, row), value(ends.high, row))
    });
    let noun = if side.count == 1 { "value" } else { "values" };
    let hint = format!("{interval}{} {noun}", three_digits(side.count as f64));
    html! { span title=(hint) { (value(side.value, row)) } }
}

/// The difference and its interval on a scale around none.
fn bar(row: &Row) -> Markup {
    let [low, high] = row
        .interval
        .map_or([row.difference; 2], |ends| [ends.low, ends.high]);
    let reach = [
        low.abs(),
        high.abs(),
        row.difference.abs(),
        2.0 * row.margin,
    ];
    let reach = reach.into_iter().fold(0.0, f64::max);
    if reach <= 0.0 || !reach.is_finite() {
        return Markup::default();
    }
    let tenths = |x: f64| format!("{x:.1}");
    let x = |value: f64| tenths(60.0 + 56.0 * value / reach);
    let band = 112.0 * (row.margin / reach).min(1.0);
    html! {
        svg viewBox="0 0 120 14" width="120" height="14" class=(row.outcome.name()) aria-hidden="true" {
            rect.band x=(tenths(60.0 - band / 2.0)) y="1" width=(tenths(band)) height="12" {}
            line.none x1="60" y1="0" x2="60" y2="14" {}
            line x1=(x(low)) y1="7" x2=(x(high)) y2="7" {}
            circle cx=(x(row.difference)) cy="7" r="3" {}
        }
    }
}

fn conditions(comparison: &Comparison) -> Markup {
    html! {
        section {
            @if comparison.conditions.is_empty() {
                h2 { "How they were made" }
                p.note { "Alike in all that the runs say of it." }
            } @else {
                h2 { "How they were made differently" }
                div.scroll tabindex="0" role="region" aria-label="How they were made differently" {
                    table.conditions {
                        thead { tr { th scope="col" { "setting" } th.text scope="col" { "A" } th.text scope="col" { "B" } } }
                        tbody {
                            @for one in &comparison.conditions {
                                tr {
                                    th scope="row" { (one.what) }
                                    @for said in [&one.a, &one.b] {
                                        td.text {
                                            @if let Some(said) = said { (said) } @else {
                                                span.none { "not said" }
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

const HEADS: [&str; 12] = [
    "quantity", "run", "values", "p5", "p25", "p50", "p75", "p95", "p99", "KS", "δ", "p",
];

fn distributions(comparison: &Comparison) -> Markup {
    let rows = &comparison.distributions;
    html! {
        @if !rows.is_empty() {
            section {
                details {
                    summary { "Distributions (" (rows.len()) ")" }
                    p.note {
                        "KS: largest distance between the two distribution functions. δ (Cliff): how often a value of B exceeds one of A, less how often it is the other way round. p (Mann and Whitney): how often chance alone does that; not told of courses over time."
                    }
                    div.scroll tabindex="0" role="region" aria-label="Distributions" {
                        table {
                            thead { tr { @for head in HEADS { th scope="col" { (head) } } } }
                            tbody { @for row in rows.iter().take(MOST_ROWS) { (distribution(row)) } }
                        }
                    }
                }
            }
        }
    }
}

fn distribution(row: &DistributionRow) -> Markup {
    let quantiles = |values: [f64; 8]| {
        let [_, p5, p25, p50, p75, _, p95, p99] = values;
        html! {
            @for value in [p5, p25, p50, p75, p95, p99] { td { (human(value, &row.unit)) } }
        }
    };
    html! {
        tr {
            td rowspan="2" { (of_subject(&row.subject, &row.metric)) }
            td { b.a { "A" } }
            td { (three_digits(row.count_a as f64)) }
            (quantiles(row.quantiles_a))
            td rowspan="2" { (three_digits(row.ks)) }
            td rowspan="2" { (three_digits(row.delta)) }
            td rowspan="2" { @if let Some(p) = row.mann_whitney_p { (three_digits(p)) } }
        }
        tr {
            td.inner { b.b { "B" } }
            td { (three_digits(row.count_b as f64)) }
            (quantiles(row.quantiles_b))
        }
    }
}

fn only(comparison: &Comparison) -> Markup {
    let sides = [("A", &comparison.only_in_a), ("B", &comparison.only_in_b)];
    html! {
        @if sides.iter().any(|(_, only)| !only.is_empty()) {
            section {
                @for (letter, only) in sides.into_iter().filter(|(_, only)| !only.is_empty()) {
                    details {
                        summary { "Only in " (letter) " (" (only.len()) ")" }
                        (list(None, only.iter().take(200).map(String::as_str)))
                    }
                }
            }
        }
    }
}

fn method() -> Markup {
    let words = [Outcome::Worse, Outcome::Better, Outcome::Changed]
        .map(Outcome::name)
        .join(", ");
    html! {
        section {
            details {
                summary { "How differences are judged" }
                p {
                    "A difference counts (" (words) ") when it exceeds both the runs' own noise and what matters: 5 % of a rate, 10 % and 3 ms of a delay, and so on (docs/compare.md), or the tolerance that was given. "
                    "Where noise allows for both, nothing can be told. Noise is known from repeats (Student's t; with the same seeds in pairs), over flows from order statistics, over time from blocks of it. "
                    "Each interval by itself misses the truth once in twenty times, so of many quantities some differ by chance alone."
                }
            }
        }
    }
}
