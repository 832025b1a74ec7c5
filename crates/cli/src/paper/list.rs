//! `unbloat paper list`.

use super::args::Args;
use crate::exit::{Exit, Failure};
use crate::print::{self, note};
use std::fmt::Write;
use unbloat_paper::{Figure, Paper, Source};
use unbloat_table::{Row, Rows, Table, columns};

pub fn print(args: &Args, papers: &[Paper]) -> Result<Exit, Failure> {
    match args.print.of("figures") {
        Some(wanted) => wanted.print(&[rows(papers)])?,
        None if args.json => {
            note!("unbloat: the list is a table: --format jsonl prints it as JSON");
            return Ok(Exit::Usage);
        }
        None => print::text(&text(papers))?,
    }
    Ok(Exit::Complete)
}

/// How a figure is made.
fn made_by(figure: &Figure) -> &'static str {
    if figure.not_made.is_some() {
        return "not made";
    }
    let requests = figure.requests("");
    let mut sources = requests.values().map(|(request, _)| &request.source);
    match sources.next() {
        Some(Source::Model(_)) => "model",
        Some(Source::LteTrace(_)) => "sim, analyze",
        Some(Source::Scenario {
            kernel: Some(_), ..
        }) => "sim, virtual, lab",
        _ => "sim",
    }
}

/// The tables of a reader's own run that a figure shows.
fn own_tables(figure: &Figure) -> String {
    let tables: Vec<&str> = figure.own_tables().into_iter().collect();
    tables.join(", ")
}

fn text(papers: &[Paper]) -> String {
    let mut text = String::new();
    for paper in papers {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}  {}", paper.id, paper.title);
        let _ = writeln!(text, "  {}, {}", paper.authors, paper.venue);
        let figures = || paper.figures.iter();
        let width = figures().map(|figure| figure.id.len()).max().unwrap_or(0);
        for figure in figures() {
            let own = own_tables(figure);
            let own = if own.is_empty() { "" } else { "  *" };
            let by = made_by(figure);
            let _ = writeln!(
                text,
                "  {:<width$}  {by:<17}  {}{own}",
                figure.id, figure.title
            );
        }
        text.push('\n');
    }
    text.push_str(
        "`unbloat paper PAPER FIGURE` makes a figure, `unbloat paper PAPER` all of a paper.\n\
         * takes your own data with --with: a capture (sigcomm2013), a campaign (cacm fig5), a run of `unbloat watch` (imc2016),\n  or a run of `unbloat sim` or `unbloat lab`. --format csv names the tables.\n",
    );
    text
}

columns! {
    struct FigureRow<'a>: figures = "one row per figure or table of a paper (unbloat paper list)" {
        paper: &'a str = "name of the paper's folder",
        figure: &'a str = "name of the figure or table",
        title: &'a str = "what it shows",
        made_by: &'a str = "what can make it: model, sim, virtual and lab",
        claims: usize = "statements of the paper that it is checked by",
        own_tables: String = "tables of a run of one's own that it shows (--with)",
        not_made: Option<&'a str> = "why nothing is made of it",
    }
}

fn rows(papers: &[Paper]) -> (Table, Rows) {
    let figures = papers.iter().flat_map(|paper| {
        let figures = paper.figures.iter();
        figures.map(|figure| (&paper.id, figure))
    });
    FigureRow::filled(figures.map(|(paper, figure)| FigureRow {
        paper,
        figure: &figure.id,
        title: &figure.title,
        made_by: made_by(figure),
        claims: figure.claims.len(),
        own_tables: own_tables(figure),
        not_made: figure.not_made.as_deref(),
    }))
}
