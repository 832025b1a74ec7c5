//! Scores as one table, for the terminal and for `docs/truth.md`.

use crate::quantity::QUANTITIES;
use crate::score::Score;

const HEADINGS: [&str; 9] = [
    "quantity", "figure", "bed", "n", "unbloat", "bound", "", "tshark", "tcptrace",
];

fn cells(score: &Score) -> [String; 9] {
    let other = |figure: &Option<String>| figure.clone().unwrap_or_default();
    [
        score.quantity.to_owned(),
        score.measure.to_owned(),
        score.bed.clone(),
        score.n.to_string(),
        score.shown(),
        score.bound_shown(),
        score.verdict().to_owned(),
        other(&score.tshark),
        other(&score.tcptrace),
    ]
}

/// The table in Markdown, columns aligned.
pub fn table(scores: &[Score]) -> String {
    let rows: Vec<[String; 9]> = scores.iter().map(cells).collect();
    let width_of = |i: usize| {
        let widths = rows.iter().map(|row| row[i].chars().count());
        widths.max().unwrap_or(0).max(HEADINGS[i].len())
    };
    let widths: [usize; 9] = std::array::from_fn(width_of);
    let line = |cells: &[String; 9]| {
        let padded = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!(" {cell:width$} |"));
        format!("|{}\n", padded.collect::<String>())
    };
    let rule = widths.map(|width| "-".repeat(width));
    let mut text = line(&HEADINGS.map(str::to_owned)) + &line(&rule);
    rows.iter().for_each(|row| text += &line(row));
    text
}

/// `docs/truth.md`: how it was made, the table, and under each quantity its definition and what the
/// bed's record adds.
pub fn document(scores: &[Score], command: &str, beds: &str) -> String {
    let mut text = format!(
        "# Accuracy of the analyzer\n\n\
        This page compares the values of `unbloat analyze` with the truth, on captures of kernel TCP over an emulated path. \
        `{command}` generates it (as root, because it creates network namespaces). Do not edit it.\n\n\
        The captures are of `unbloat lab`: its path logs what it does to every packet, and BPF programs log what the server's kernel does (`tools/validate`). \
        The analyzer reads only the captures. \
        tshark and tcptrace read the same captures; an empty cell means that the tool reports no such value.\n\n\
        Beds: {beds}.\n\n{}\n",
        table(scores)
    );
    for quantity in QUANTITIES {
        text += &format!("## {}\n\n{}\n\n", quantity.name, quantity.definition);
        for score in scores
            .iter()
            .filter(|s| s.quantity == quantity.name && !s.notes.is_empty())
        {
            text += &format!(
                "- {}, {}: {}.\n",
                score.bed,
                score.measure,
                score.notes.join("; ")
            );
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}
