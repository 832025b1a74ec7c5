//! A comparison on one screen.

use super::words::{
    comparison_headline, difference, judgement, name, question, relative, says, tally, topic, value,
};
use crate::terminal::{printable, wrap};
use std::fmt::Write;
use unbloat_compare::{Comparison, Outcome, Row};

/// Settings that are shown before the rest is counted.
const CONDITIONS: usize = 8;

/// What differs and whether it matters first, then how, in at most about `rows` lines of numbers and `width` columns. Ends with
/// a line feed.
pub fn comparison_text(comparison: &Comparison, width: usize, rows: usize) -> String {
    let mut text = format!("{}\n", printable(&comparison_headline(comparison)));
    made(&mut text, comparison, width);
    let shown = shown(&comparison.quantities, rows);
    numbers(&mut text, &shown, width);
    let _ = writeln!(
        text,
        "\n{}; {} shown",
        tally(&comparison.verdict.all),
        shown.len()
    );
    if comparison.verdict.all.unrepeated > 0 {
        wrap(&mut text, &question(comparison), width);
    }
    for (letter, only) in [("A", &comparison.only_in_a), ("B", &comparison.only_in_b)] {
        if !only.is_empty() {
            let some: Vec<&str> = only.iter().take(3).map(String::as_str).collect();
            let more = if only.len() > 3 { ", ..." } else { "" };
            let list = some.join(", ");
            wrap(
                &mut text,
                &format!("Only in {letter} ({}): {list}{more}", only.len()),
                width,
            );
        }
    }
    for one in &comparison.judgements {
        let _ = writeln!(text, "{}", printable(&judgement(one)));
    }
    text
}

/// What the runs are, and how they were made differently.
fn made(text: &mut String, comparison: &Comparison, width: usize) {
    let [of_a, of_b] = &comparison.verdicts;
    for (letter, run, verdict) in [("A", &comparison.a, of_a), ("B", &comparison.b, of_b)] {
        let verdict = verdict
            .as_ref()
            .map_or(String::new(), |verdict| format!(": {verdict}"));
        wrap(text, &format!("{letter}  {run}{verdict}"), width);
    }
    let unsaid = || "-".to_owned();
    let conditions = &comparison.conditions;
    let left = conditions.iter().take(CONDITIONS);
    let widest = left
        .clone()
        .map(|one| one.what.chars().count())
        .max()
        .unwrap_or(0);
    for one in left {
        let (a, b) = (
            one.a.clone().unwrap_or_else(unsaid),
            one.b.clone().unwrap_or_else(unsaid),
        );
        wrap(text, &format!("{:<widest$}  {a} -> {b}", one.what), width);
    }
    if conditions.len() > CONDITIONS {
        let _ = writeln!(
            text,
            "  and {} more settings",
            conditions.len() - CONDITIONS
        );
    }
    for caution in &comparison.cautions {
        wrap(text, &format!("! {caution}"), width);
    }
}

/// Columns that names need at least.
const LEAST_ROOM: usize = 16;

/// Key results; of too many those that differ before those that do not.
fn shown(quantities: &[Row], rows: usize) -> Vec<&Row> {
    let has_key = quantities.iter().any(|row| row.is_key);
    let key = quantities
        .iter()
        .enumerate()
        .filter(|(_, row)| row.is_key || !has_key);
    let mut shown: Vec<(usize, &Row)> = key.collect();
    if shown.len() > rows {
        let rank = |row: &Row| match row.outcome {
            Outcome::Worse | Outcome::Better => 0,
            Outcome::Changed | Outcome::CannotTell => 1,
            Outcome::Same => 2,
        };
        shown.sort_by_key(|(place, row)| (rank(row), *place));
        shown.truncate(rows);
        shown.sort_by_key(|(place, _)| *place);
    }
    shown.into_iter().map(|(_, row)| row).collect()
}

fn numbers(text: &mut String, rows: &[&Row], width: usize) {
    if rows.is_empty() {
        return;
    }
    let lines: Vec<[String; 6]> = rows.iter().map(|row| cells(row)).collect();
    let head = ["", "A", "B", "B - A", "", ""].map(str::to_owned);
    let mut widths: [usize; 6] = std::array::from_fn(|i| {
        let lengths = lines
            .iter()
            .chain([&head])
            .map(|line| line[i].chars().count());
        lengths.max().unwrap_or(0)
    });
    let others: usize = widths[1..].iter().map(|cell| cell + 2).sum();
    let room = width.saturating_sub(others + 4);
    let is_narrow = room < LEAST_ROOM.min(widths[0]);
    widths[0] = widths[0].min(room);
    match is_narrow {
        true => text.push_str("  A -> B, B - A\n"),
        false => line(text, &head, widths),
    }
    let mut last = None;
    for (row, of_row) in rows.iter().zip(&lines) {
        if last != Some(row.topic) {
            let _ = writeln!(text, "  {}", topic(row.topic));
            last = Some(row.topic);
        }
        match is_narrow {
            true => two_lines(text, of_row),
            false => line(text, of_row, widths),
        }
    }
}

/// Where columns have no room: the name, and below it all that is known.
fn two_lines(text: &mut String, [named, a, b, change, share, said]: &[String; 6]) {
    let parts = [change, share, said].into_iter();
    let parts: Vec<&str> = parts
        .map(|part| part.trim())
        .filter(|part| !part.is_empty())
        .collect();
    let _ = writeln!(text, "    {named}\n      {a} -> {b}, {}", parts.join(", "));
}

fn cells(row: &Row) -> [String; 6] {
    let half = row.interval.map(|ends| (ends.high - ends.low) / 2.0);
    let half = half.filter(|half| *half > 0.0);
    let half = half.map_or(String::new(), |half| {
        format!(" ± {}", crate::numbers::human(half, &row.unit))
    });
    [
        printable(&name(row)),
        value(row.a.value, row),
        value(row.b.value, row),
        format!("{}{half}", difference(row.difference, &row.unit)),
        relative(row),
        says(row),
    ]
}

fn line(text: &mut String, cells: &[String; 6], widths: [usize; 6]) {
    let [named, a, b, change, share, said] = cells;
    let [first, rest @ ..] = widths;
    let short = match named.chars().count() > first {
        true => format!("{}…", named.chars().take(first - 1).collect::<String>()),
        false => named.clone(),
    };
    let [of_a, of_b, of_change, of_share, _] = rest;
    let line = format!(
        "    {short:<first$}  {a:>of_a$}  {b:>of_b$}  {change:>of_change$}  {share:>of_share$}  {said}"
    );
    text.push_str(line.trim_end());
    text.push('\n');
}
