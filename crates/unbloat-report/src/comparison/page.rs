//! A comparison as one self-contained HTML file.

use super::figures::figures;
use super::words::{
    QUESTION, comparison_headline, difference, judgement, name, quantity, relative, says, tally,
    topic, value,
};
use crate::ReportError;
use crate::html::{escape, script_json, write_document};
use crate::numbers::{human, three_digits};
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
    let title = escape(&format!("unbloat: {} and {}", comparison.a, comparison.b));
    Ok(write_document(
        out,
        &title,
        &body(comparison),
        &json,
        SCRIPT,
    )?)
}

fn body(comparison: &Comparison) -> String {
    let sections = [
        header(comparison),
        verdict(comparison),
        judgements(comparison),
        key_numbers(comparison),
        conditions(comparison),
        "<section id=\"figures-section\">\n<h2>Curves</h2>\n<p class=\"note\">Both runs on the same axes. Drag to zoom, double-click to zoom out.</p>\n\
         <div id=\"figures\"></div>\n<noscript><p>The curves are drawn by a script in this file; it is switched off here.</p></noscript>\n</section>\n"
            .to_owned(),
        everything(comparison),
        distributions(comparison),
        only(comparison),
        method(),
    ];
    format!(
        "<main class=\"comparison\">\n{}</main>\n",
        sections.concat()
    )
}

fn header(comparison: &Comparison) -> String {
    let [of_a, of_b] = &comparison.verdicts;
    let said = |verdict: &Option<String>| {
        verdict.as_ref().map_or(String::new(), |text| {
            format!(" <span class=\"note\">{}</span>", escape(text))
        })
    };
    let cautions: String = comparison
        .cautions
        .iter()
        .map(|one| format!("<li>{}</li>", escape(one)))
        .collect();
    let cautions = match cautions.is_empty() {
        true => cautions,
        false => format!("<ul class=\"warnings\">{cautions}</ul>\n"),
    };
    format!(
        "<header><h1>unbloat</h1><p><b class=\"a\">A</b> {}{}</p><p><b class=\"b\">B</b> {}{}</p></header>\n{cautions}",
        escape(&comparison.a),
        said(of_a),
        escape(&comparison.b),
        said(of_b),
    )
}

fn verdict(comparison: &Comparison) -> String {
    let class = match comparison.verdict.overall {
        Overall::Better | Overall::Same => "clean",
        Overall::Worse => "bloated",
        _ => "inconclusive",
    };
    let leading = comparison.verdict.leading.iter();
    let leading = leading
        .filter_map(|index| comparison.quantities.get(*index))
        .take(TILES);
    let tiles: String = leading.map(tile).collect();
    let tiles = match tiles.is_empty() {
        true => tiles,
        false => format!("<div class=\"tiles\">{tiles}</div>\n"),
    };
    let question = match comparison.verdict.all.unrepeated {
        0 => "",
        _ => QUESTION,
    };
    format!(
        "<section class=\"verdict {class}\">\n<h2>{}</h2>\n{tiles}<p class=\"note\">{}. {question}</p></section>\n",
        escape(&comparison_headline(comparison)),
        tally(&comparison.verdict.all)
    )
}

fn tile(row: &Row) -> String {
    format!(
        "<div><b class=\"{}\">{}</b><span>{}<br>{} → {}</span></div>",
        row.outcome.name(),
        escape(&match relative(row).as_str() {
            "" => difference(row.difference, &row.unit),
            share => share.replace('x', "×"),
        }),
        escape(&name(row)),
        escape(&value(row.a.value, row)),
        escape(&value(row.b.value, row)),
    )
}

fn judgements(comparison: &Comparison) -> String {
    let line = |one: &unbloat_compare::Judgement| {
        let class = if one.holds { "better" } else { "worse" };
        format!("<li class=\"{class}\">{}</li>", escape(&judgement(one)))
    };
    let items: String = comparison.judgements.iter().map(line).collect();
    match items.is_empty() {
        true => items,
        false => {
            format!("<section><h2>Tolerances</h2><ul class=\"judgements\">{items}</ul></section>\n")
        }
    }
}

fn key_numbers(comparison: &Comparison) -> String {
    let rows: Vec<&Row> = comparison
        .quantities
        .iter()
        .filter(|row| row.is_key)
        .collect();
    match rows.is_empty() {
        true => String::new(),
        false => format!(
            "<section><h2>What matters</h2>\n<p class=\"note\">Bars: the difference and the interval in which it lies with 95 % confidence; within the grey band it does not matter.</p>\n{}</section>\n",
            quantities(&rows)
        ),
    }
}

fn everything(comparison: &Comparison) -> String {
    let rows: Vec<&Row> = comparison
        .quantities
        .iter()
        .filter(|row| !row.is_key)
        .take(MOST_ROWS)
        .collect();
    match rows.is_empty() {
        true => String::new(),
        false => format!(
            "<section><details><summary>All other quantities ({})</summary>{}</details></section>\n",
            rows.len(),
            quantities(&rows)
        ),
    }
}

fn quantities(rows: &[&Row]) -> String {
    let mut body = String::new();
    let mut last = None;
    for row in rows {
        if last != Some(row.topic) {
            body += &format!(
                "<tr class=\"topic\"><th colspan=\"7\">{}</th></tr>\n",
                topic(row.topic)
            );
            last = Some(row.topic);
        }
        let cells = [
            format!("<td>{}</td>", escape(&name(row))),
            format!("<td>{}</td>", side(row.a, row)),
            format!("<td>{}</td>", side(row.b, row)),
            format!(
                "<td>{}</td>",
                escape(&difference(row.difference, &row.unit))
            ),
            format!("<td>{}</td>", escape(&relative(row).replace('x', "×"))),
            format!("<td class=\"bar\">{}</td>", bar(row)),
            format!(
                "<td class=\"text {}\">{}</td>",
                row.outcome.name(),
                says(row)
            ),
        ];
        body += &format!("<tr>{}</tr>\n", cells.concat());
    }
    format!(
        "<div class=\"scroll\"><table class=\"quantities\"><thead><tr><th></th><th>A</th><th>B</th><th>B − A</th><th></th><th></th><th class=\"text\"></th></tr></thead><tbody>\n{body}</tbody></table></div>\n"
    )
}

/// A value, with its interval and what that rests on when pointed at.
fn side(side: unbloat_compare::Side, row: &Row) -> String {
    let interval = side.interval.map_or(String::new(), |ends| {
        format!("{} to {}, ", value(ends.low, row), value(ends.high, row))
    });
    let noun = if side.count == 1 { "value" } else { "values" };
    let hint = format!("{interval}{} {noun}", three_digits(side.count as f64));
    format!(
        "<span title=\"{}\">{}</span>",
        escape(&hint),
        escape(&value(side.value, row))
    )
}

/// The difference and its interval on a scale around none.
fn bar(row: &Row) -> String {
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
        return String::new();
    }
    let x = |value: f64| 60.0 + 56.0 * value / reach;
    let band = 112.0 * (row.margin / reach).min(1.0);
    format!(
        "<svg viewBox=\"0 0 120 14\" width=\"120\" height=\"14\" class=\"{}\" aria-hidden=\"true\"><rect class=\"band\" x=\"{:.1}\" y=\"1\" width=\"{band:.1}\" height=\"12\"/>\
         <line class=\"none\" x1=\"60\" y1=\"0\" x2=\"60\" y2=\"14\"/><line x1=\"{:.1}\" y1=\"7\" x2=\"{:.1}\" y2=\"7\"/><circle cx=\"{:.1}\" cy=\"7\" r=\"3\"/></svg>",
        row.outcome.name(),
        60.0 - band / 2.0,
        x(low),
        x(high),
        x(row.difference),
    )
}

fn conditions(comparison: &Comparison) -> String {
    let said = |text: &Option<String>| {
        text.as_deref()
            .map_or("<span class=\"none\">not said</span>".to_owned(), escape)
    };
    let rows: String = comparison
        .conditions
        .iter()
        .map(|one| {
            format!(
                "<tr><td>{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td></tr>\n",
                escape(&one.what),
                said(&one.a),
                said(&one.b)
            )
        })
        .collect();
    match rows.is_empty() {
        true => "<section><h2>How they were made</h2><p class=\"note\">Alike in all that the runs say of it.</p></section>\n".to_owned(),
        false => format!(
            "<section><h2>How they were made differently</h2><div class=\"scroll\"><table class=\"conditions\"><thead><tr><th></th><th class=\"text\">A</th><th class=\"text\">B</th></tr></thead><tbody>\n{rows}</tbody></table></div></section>\n"
        ),
    }
}

fn distributions(comparison: &Comparison) -> String {
    let rows: String = comparison
        .distributions
        .iter()
        .take(MOST_ROWS)
        .map(distribution)
        .collect();
    match rows.is_empty() {
        true => rows,
        false => format!(
            "<section><details><summary>Distributions ({})</summary><p class=\"note\">KS: largest distance between the two distribution functions. δ (Cliff): how often a value of B exceeds one of A, less how often it is the other way round. p (Mann and Whitney): how often chance alone does that; not told of courses over time.</p><div class=\"scroll\"><table><thead><tr><th></th><th></th><th>values</th><th>p5</th><th>p25</th><th>p50</th><th>p75</th><th>p95</th><th>p99</th><th>KS</th><th>δ</th><th>p</th></tr></thead><tbody>\n{rows}</tbody></table></div></details></section>\n",
            comparison.distributions.len()
        ),
    }
}

fn distribution(row: &DistributionRow) -> String {
    let quantiles = |values: [f64; 8]| {
        let [_, p5, p25, p50, p75, _, p95, p99] = values;
        [p5, p25, p50, p75, p95, p99]
            .map(|value| format!("<td>{}</td>", escape(&human(value, &row.unit))))
            .concat()
    };
    let p = row.mann_whitney_p.map_or(String::new(), three_digits);
    format!(
        "<tr><td rowspan=\"2\">{} {}</td><td><b class=\"a\">A</b></td><td>{}</td>{}<td rowspan=\"2\">{}</td><td rowspan=\"2\">{}</td><td rowspan=\"2\">{p}</td></tr>\n<tr><td class=\"inner\"><b class=\"b\">B</b></td><td>{}</td>{}</tr>\n",
        escape(&row.subject),
        escape(&quantity(&row.metric)),
        three_digits(row.count_a as f64),
        quantiles(row.quantiles_a),
        three_digits(row.ks),
        three_digits(row.delta),
        three_digits(row.count_b as f64),
        quantiles(row.quantiles_b),
    )
}

fn only(comparison: &Comparison) -> String {
    let list = |letter: &str, only: &[String]| {
        let items: String = only
            .iter()
            .take(200)
            .map(|one| format!("<li>{}</li>", escape(one)))
            .collect();
        match only.len() {
            0 => String::new(),
            count => format!(
                "<details><summary>Only in {letter} ({count})</summary><ul>{items}</ul></details>"
            ),
        }
    };
    let lists = [
        list("A", &comparison.only_in_a),
        list("B", &comparison.only_in_b),
    ]
    .concat();
    match lists.is_empty() {
        true => lists,
        false => format!("<section>{lists}</section>\n"),
    }
}

fn method() -> String {
    let words = [Outcome::Worse, Outcome::Better, Outcome::Changed]
        .map(Outcome::name)
        .join(", ");
    format!(
        "<section><details><summary>How differences are judged</summary>\
         <p>A difference counts ({words}) when it exceeds both the runs' own noise and what matters: 5 % of a rate, 10 % and 3 ms of a delay, and so on (docs/compare.md), or the tolerance that was given. \
         Where noise allows for both, nothing can be told. Noise is known from repeats (Student's t; with the same seeds in pairs), over flows from order statistics, over time from blocks of it. \
         Each interval by itself misses the truth once in twenty times, so of many quantities some differ by chance alone.</p></details></section>\n"
    )
}
