//! A paper's figures as one self-contained HTML file.

use super::data::{panel_id, panels};
use super::words::{number, ours, published, sentence, with_label};
use crate::ReportError;
use crate::html::{script_json, tiles, warnings, write_document};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::io::{self, Write};
use unbloat_paper::{Drawn, Made, Panel, PanelKind, Paper, Source, Verdict, scenario};

const SCRIPT: &str = concat!(
    include_str!("../../assets/common.js"),
    include_str!("../../assets/paper.js")
);

/// Rows of a panel's table.
const MOST_ROWS: usize = 60;

/// Writes the page of one paper. All of `made` are its figures; scenarios may be those of others.
pub fn render_paper(
    papers: &[Paper],
    made: &[Made],
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let Some(first) = made.first() else {
        return Ok(());
    };
    let data: Vec<_> = made.iter().flat_map(panels).collect();
    let json = script_json(&data).map_err(io::Error::from)?;
    let title = format!("unbloat: {}", first.paper.title);
    Ok(write_document(
        out,
        &title,
        body(papers, made),
        &json,
        SCRIPT,
    )?)
}

fn body(papers: &[Paper], made: &[Made]) -> Markup {
    let paper = made[0].paper;
    html! {
        main.paper {
            header {
                h1 { "unbloat" }
                p { b { (paper.title) } }
                p { (paper.authors) ". " (paper.venue) "." @if let Some(doi) = &paper.doi { " doi:" (doi) } }
                p.note { (paper.about) }
            }
            (overview(made))
            @for one in made { (figure(papers, one)) }
            (rule())
        }
    }
}

fn overview(made: &[Made]) -> Markup {
    let count = |verdict: Verdict| {
        made.iter()
            .filter(|one| one.judged.verdict == verdict)
            .count()
    };
    let counts = Verdict::ALL
        .into_iter()
        .filter(|verdict| count(*verdict) > 0);
    let counts: Vec<(String, String)> = counts
        .map(|verdict| (count(verdict).to_string(), verdict.name().to_owned()))
        .collect();
    html! {
        section.verdict {
            h2 { "Figures and tables" }
            (tiles(&counts))
            div.scroll tabindex="0" role="region" aria-label="Table" {
                table {
                    tbody {
                        @for one in made {
                            tr {
                                td.text { a href={ "#" (one.figure.id) } { (one.figure.label) } }
                                td.text { (one.figure.title) }
                                td.text { span.badge.(class(one.judged.verdict)) { (one.judged.verdict.name()) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Agrees => "clean",
        Verdict::Differs => "bloated",
        Verdict::ShapeAgrees | Verdict::Drawn | Verdict::NotRun | Verdict::NotMade => {
            "inconclusive"
        }
    }
}

fn figure(papers: &[Paper], made: &Made) -> Markup {
    let figure = made.figure;
    let verdict = made.judged.verdict;
    html! {
        section.figure-of-paper id=(figure.id) {
            h2 { (figure.label) ": " (figure.title) }
            p { (figure.shows) span.note { " (" (figure.place) ")" } }
            p { span.badge.(class(verdict)) { (verdict.name()) } " " (sentence(made)) }
            (warnings(made.notes.iter().map(String::as_str)))
            div.panels {
                @for (number, (panel, drawn)) in figure.panels.iter().zip(&made.drawn).enumerate() {
                    div.figure {
                        h3 { @if !panel.id.is_empty() { "(" (panel.id) ") " } (panel.title) }
                        @if panel.kind == PanelKind::Heatmap {
                            (heatmap(panel, drawn))
                        } @else {
                            div id=(panel_id(made, number)) {}
                            (values(panel, drawn))
                        }
                    }
                }
            }
            (claims(made))
            (assumptions(made))
            (runs(papers, made))
        }
    }
}

/// A table whose cells are the stronger coloured the larger their value; a curve is a row.
fn heatmap(panel: &Panel, drawn: &Drawn) -> Markup {
    let values = || drawn.curves.iter().flat_map(|curve| &curve.points);
    let most = values().map(|point| point.y).fold(0.0, f64::max);
    let colour = |y: f64| {
        let share = (100.0 * y / most).clamp(0.0, 100.0);
        format!("background: color-mix(in srgb, var(--c2) {share:.0}%, transparent)")
    };
    html! {
        p.note { (with_label(&panel.y.label, panel.y.unit.name())) }
        div.scroll tabindex="0" role="region" aria-label="Table" {
            table {
                thead { tr { th.text scope="col" { "series" } @for tick in &drawn.ticks { th scope="col" { (tick) } } } }
                tbody {
                    @for curve in &drawn.curves {
                        tr {
                            td.text { (curve.name) }
                            @for at in 0..drawn.ticks.len() {
                                @match curve.points.iter().find(|point| point.x == at as f64) {
                                    Some(point) => { td style=(colour(point.y)) { (number(point.y)) } }
                                    None => { td {} }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The drawn points as a table, for those who cannot or will not read the chart.
fn values(panel: &Panel, drawn: &Drawn) -> Markup {
    let at = |x: f64| {
        drawn
            .ticks
            .get(x as usize)
            .cloned()
            .unwrap_or_else(|| number(x))
    };
    let rows: Vec<_> = drawn
        .curves
        .iter()
        .flat_map(|curve| {
            let step = curve
                .points
                .len()
                .div_ceil(MOST_ROWS / drawn.curves.len().max(1))
                .max(1);
            curve
                .points
                .iter()
                .step_by(step)
                .map(move |point| (curve, point))
        })
        .collect();
    html! {
        @if !rows.is_empty() {
            details {
                summary { "Values" }
                div.scroll tabindex="0" role="region" aria-label="Table" {
                    table {
                        thead {
                            tr {
                                th.text scope="col" { "series" }
                                th scope="col" { (with_label(&panel.x.label, panel.x.unit.name())) }
                                th scope="col" { (with_label(&panel.y.label, panel.y.unit.name())) }
                                th scope="col" { "min" } th scope="col" { "max" }
                            }
                        }
                        tbody {
                            @for (curve, point) in rows {
                                tr {
                                    td.text { (curve.name) }
                                    td { (at(point.x)) }
                                    td { (number(point.y)) }
                                    td { (number(point.low)) } td { (number(point.high)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn claims(made: &Made) -> Markup {
    let all = made.figure.claims.iter().zip(&made.judged.claims);
    html! {
        @if !made.judged.claims.is_empty() {
            div.scroll tabindex="0" role="region" aria-label="Table" {
                table.claims {
                    thead { tr { th.text scope="col" { "The paper says" } th.text scope="col" { "published" } th.text scope="col" { "ours" } th.text scope="col" { "holds" } } }
                    tbody {
                        @for (claim, judgement) in all {
                            tr {
                                td.text { (claim.says)
                                    @if claim.tests_analysis { span.note { " (tests the analysis)" } }
                                    @if let Some(place) = &claim.place { span.note { " (" (place) ")" } } }
                                td.text { (published(claim)) }
                                td.text {
                                    (ours(claim, judgement))
                                    @if !judgement.others.is_empty() {
                                        " against "
                                        @for (index, other) in judgement.others.iter().enumerate() {
                                            @if index > 0 { ", " }
                                            (number(other.mean))
                                        }
                                    }
                                }
                                td.text {
                                    @match judgement.holds {
                                        Some(true) => { "yes" }
                                        Some(false) => { b { "no" } }
                                        None => { "not run" }
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

fn assumptions(made: &Made) -> Markup {
    let all = made.figure.assumptions.iter().zip(&made.judged.effects);
    html! {
        @if !made.figure.assumptions.is_empty() {
            h3 { "Not in the paper" }
            ul {
                @for (assumption, effects) in all {
                    li {
                        (assumption.parameter) ": " (assumption.value) ". " (assumption.why)
                        @if !effects.is_empty() {
                            " With "
                            @for (index, effect) in effects.iter().enumerate() {
                                @if index > 0 { ", " }
                                (effect.value) ": "
                                @match effect.ours {
                                    Some(ours) => { (number(ours.mean)) " " (assumption.effect.as_ref().map_or("", |one| one.unit.name())) }
                                    None => { "not measured" }
                                }
                            }
                            "."
                        }
                    }
                }
            }
        }
    }
}

/// The scenarios behind the figure, whole, with the commands that run them.
fn runs(papers: &[Paper], made: &Made) -> Markup {
    let mut requests = made.figure.requests(&made.paper.id);
    requests.extend(made.figure.effect_requests(&made.paper.id));
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (request, _) in requests.values() {
        if let Source::Scenario { file, set, .. } = &request.source {
            let words = set.iter().map(|one| format!(" --set '{one}'"));
            let command = format!("unbloat sim {file}{}", words.collect::<String>());
            files.entry(file).or_default().push(command);
        }
    }
    html! {
        @for (file, commands) in files {
            details {
                summary { "Scenario " (file) }
                pre tabindex="0" { @for command in &commands { (command) "\n" } }
                pre tabindex="0" { (scenario(papers, file).unwrap_or_default()) }
            }
        }
    }
}

fn rule() -> Markup {
    html! {
        section {
            h2 { "The rule" }
            p {
                "A value holds if ours is within 20 % of the published number or our repeats lie on both sides of it, a bound if ours is on its side, "
                "an order if the means over repeats are in that order, and the sign of a change if all repeats have it and the change is 2 % or more. "
                "A figure agrees if all its statements hold. Its shape agrees if only values do not and "
                "a bound or an order of the mechanism does. "
                "Rings and dashed lines mark published numbers, bars the extremes over repeats."
            }
        }
    }
}
