//! The verdict as text for a terminal.

use crate::numbers::human;
use std::fmt::Write;
use unbloat_summary::{DirectionVerdict, Verdict};

const LISTED: usize = 3;

/// The verdict in a few lines of at most about `width` columns: the answer, its details, and the flows
/// that wait longest in aligned columns. Ends with a line feed.
pub fn verdict_text(verdict: &Verdict, width: usize) -> String {
    let mut text = String::new();
    wrap_after(&mut text, "", &verdict.sentence, width);
    for (label, detail) in verdict.details() {
        // The answer is one of them.
        if detail != verdict.sentence {
            wrap(&mut text, &format!("{label}: {detail}"), width);
        }
    }
    for direction in verdict.by_weight() {
        aligned(
            &mut text,
            [
                &format!("flows that wait, {}", direction.direction.name()),
                "p50",
                "p95",
                "for",
            ],
            waiting(direction),
        );
    }
    text
}

fn waiting(direction: &DirectionVerdict) -> Vec<[String; 4]> {
    let rows = direction.waiting.iter().take(LISTED).map(|f| {
        let who = format!("{}: {} - {}", f.flow_id, f.client, f.server);
        [
            printable(&who),
            human(f.standing_p50_ms, "ms"),
            human(f.standing_p95_ms, "ms"),
            human(f.standing_s, "s"),
        ]
    });
    rows.collect()
}

/// Names come from packets: a control character would steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    let safe = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(safe).collect()
}

/// One line for the heads and one for each row; nothing when there are no rows.
fn aligned<const N: usize>(text: &mut String, head: [&str; N], rows: Vec<[String; N]>) {
    if rows.is_empty() {
        return;
    }
    let lines: Vec<[String; N]> = std::iter::once(head.map(str::to_owned))
        .chain(rows)
        .collect();
    let widths: [usize; N] = std::array::from_fn(|i| {
        let cells = lines.iter().map(|line| line[i].chars().count());
        cells.max().unwrap_or(0)
    });
    for line in &lines {
        let mut out = format!("  {:<w$}", line[0], w = widths[0]);
        for (cell, &w) in line.iter().zip(&widths).skip(1).filter(|(_, w)| **w > 0) {
            // Writing to a String cannot fail.
            let _ = write!(out, "  {cell:>w$}");
        }
        text.push_str(out.trim_end());
        text.push('\n');
    }
}

/// Breaks at spaces; the first line is indented by two columns, the following ones by four.
pub(crate) fn wrap(text: &mut String, sentence: &str, width: usize) {
    wrap_after(text, "  ", sentence, width);
}

fn wrap_after(text: &mut String, before: &str, sentence: &str, width: usize) {
    let indent = "    ";
    let mut line = String::from(before);
    for word in printable(sentence).split(' ') {
        if line.chars().count() + 1 + word.chars().count() > width && line.trim() != "" {
            text.push_str(line.trim_end());
            text.push('\n');
            line = indent.to_owned();
        }
        line.push_str(word);
        line.push(' ');
    }
    text.push_str(line.trim_end());
    text.push('\n');
}
