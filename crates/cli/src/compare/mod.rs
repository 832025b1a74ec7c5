//! `unbloat compare`: compares two runs.

mod args;

pub use args::Args;

use crate::confine::{May, confine};
use crate::exit::{Exit, Failure};
use crate::output::Wanted;
use crate::print::{PrintError, note, out};
use crate::terminal;
use std::io::{BufWriter, Write};
use std::path::Path;
use unbloat_api::compare::{Document, PAGE, Pair, side_by_side, write_folder, write_page};
use unbloat_compare::{Comparison, Overall, all_rows};
use unbloat_html::comparison_text;
use unbloat_text::Tone;
use unbloat_untrusted::styled;

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let mut files = vec![(May::Read, &args.a), (May::Read, &args.b)];
    files.extend(
        [&args.out, &args.output]
            .into_iter()
            .flatten()
            .map(|path| (May::Write, path)),
    );
    confine(&files);
    let pair = Pair {
        a: args.a.clone(),
        b: args.b.clone(),
        within: args.within.clone(),
    };
    let comparison = side_by_side(&pair)?;
    print(args, &comparison)?;
    if let Some(file) = &args.output {
        write_page(file, &comparison)?;
        point_to(file);
    }
    if let Some(dir) = &args.out {
        let written = write_folder(dir, &pair, &comparison, std::env::args().collect())?;
        point_to(&written.join(PAGE));
        note!("tables  {}", written.display());
    }
    Ok(match () {
        () if comparison.verdict.overall == Overall::NothingInCommon => Exit::Failed,
        () if comparison.judgements.iter().all(|one| one.holds) => Exit::Complete,
        () => Exit::OutOfBounds,
    })
}

fn point_to(page: &Path) {
    note!("page    {}", page.display());
}

fn print(args: &Args, comparison: &Comparison) -> Result<(), Failure> {
    let mut out = BufWriter::new(out());
    match args.format {
        None if args.json => out
            .write_all(Document::of(comparison).text()?.as_bytes())
            .map_err(PrintError::from)?,
        None => {
            let text = comparison_text(comparison, terminal::width(), args.rows);
            let tone = match comparison.verdict.overall {
                Overall::Better | Overall::Same => Tone::Good,
                Overall::Worse => Tone::Bad,
                Overall::Mixed | Overall::CannotTell | Overall::NothingInCommon => Tone::Fair,
                Overall::Changed => Tone::Strong,
            };
            let text = terminal::stdout().lay(&styled(&tone.paint_first(&text)));
            out.write_all(text.as_bytes()).map_err(PrintError::from)?;
        }
        Some(kind) => {
            let wanted = Wanted {
                table: &args.table,
                kind,
                rows: args.rows,
            };
            wanted.print(&all_rows(comparison))?;
        }
    }
    Ok(out.flush().map_err(PrintError::from)?)
}
