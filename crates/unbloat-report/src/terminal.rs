//! The verdict as text for a terminal.

use crate::numbers::{human, three_digits};
use std::fmt::Write;
use unbloat_summary::{Side, Verdict, VerdictKind};

const LISTED: usize = 3;

/// The verdict in 2 to 25 lines of at most about `width` columns: the answer, its sentences, and the
/// worst users, flows and culprits in aligned columns. Ends with a line feed.
pub fn verdict_text(verdict: &Verdict, width: usize) -> String {
    let mut text = format!("{}\n", verdict.headline());
    for sentence in verdict.sentences() {
        wrap(&mut text, &sentence, width);
    }
    if verdict.kind == VerdictKind::Bloated {
        tables(&mut text, verdict);
    }
    text
}

fn tables(text: &mut String, verdict: &Verdict) {
    aligned(
        text,
        ["worst users", "p50", "p95", "p99", "", "flows"],
        users(verdict),
    );
    aligned(
        text,
        ["worst flows", "p50", "p95", "p99", "BDPs", "side"],
        flows(verdict),
    );
    aligned(
        text,
        ["because of", "queued", "for", "share", "victims", "side"],
        culprits(verdict),
    );
}

fn users(verdict: &Verdict) -> Vec<[String; 6]> {
    let rows = verdict.users.iter().take(LISTED).map(|u| {
        let [p50, p95, p99] = delays(u.added);
        let flows = u.flows.to_string();
        [printable(&u.client), p50, p95, p99, String::new(), flows]
    });
    rows.collect()
}

fn flows(verdict: &Verdict) -> Vec<[String; 6]> {
    let rows = verdict.flows.iter().take(LISTED).map(|f| {
        let [p50, p95, p99] = delays(f.added);
        let bdp = f.queue_bdp.map(three_digits).unwrap_or_default();
        let who = who(f.flow_id, &f.client, &f.server);
        [who, p50, p95, p99, bdp, side(f.side).to_owned()]
    });
    rows.collect()
}

fn culprits(verdict: &Verdict) -> Vec<[String; 6]> {
    let rows = verdict.culprits.iter().take(LISTED).map(|c| {
        [
            who(c.flow_id, &c.client, &c.server),
            human(c.queued_bytes, "B"),
            human(c.overlap_s, "s"),
            human(100.0 * c.share, "%"),
            format!("{} ({} own)", c.victims, c.own_victims),
            side(c.side).to_owned(),
        ]
    });
    rows.collect()
}

fn who(flow_id: u64, client: &str, server: &str) -> String {
    printable(&format!("{flow_id}: {client} - {server}"))
}

fn delays(d: unbloat_summary::Delays) -> [String; 3] {
    [d.p50_ms, d.p95_ms, d.p99_ms].map(|ms| human(ms, "ms"))
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Downstream => "downstream",
        Side::Upstream => "upstream",
    }
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

/// Breaks at spaces; following lines stand below the first word's end of "Who: ".
pub(crate) fn wrap(text: &mut String, sentence: &str, width: usize) {
    let indent = "    ";
    let mut line = String::from("  ");
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
