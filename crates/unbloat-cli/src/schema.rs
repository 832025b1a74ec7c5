//! `unbloat schema`: the tables and columns of a run, with their meaning.

use crate::exit::Exit;
use crate::print::{self, PrintError};
use unbloat_run::schema_markdown;
use unbloat_summary::{figures_table, summary_table};
use unbloat_trace::all_tables;

/// Print the tables and columns of run folders, with units and meaning, as Markdown.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  unbloat schema > schema.md")]
pub struct Args {}

pub fn run(_: &Args) -> Result<Exit, PrintError> {
    let mut tables = all_tables();
    tables.extend([summary_table(), figures_table()]);
    tables.extend(crate::model::tables());
    tables.extend(crate::experiment::tables());
    tables.extend(crate::lab::tables());
    tables.extend(unbloat_test::tables::tables());
    tables.extend([
        unbloat_campaign::campaign_table(),
        crate::campaign::readings_table(),
    ]);
    tables.extend(unbloat_compare::all_tables());
    tables.extend(unbloat_locate::tables::all_tables());
    print::text(&schema_markdown(&tables))?;
    Ok(Exit::Complete)
}
