//! Options of `unbloat compare`.

use crate::output::{ROWS, format_parser};
use crate::run_name::run_parser;
use std::path::PathBuf;
use unbloat_compare::Tolerance;
use unbloat_run::format::FormatKind;

/// Compare two runs: what differs, and whether it exceeds the noise.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat compare before after
  unbloat compare sim lab --within 'goodput 5 %' \\
    --within 'queue_delay_p95 20 % or 3 ms'
  unbloat compare main branch --within 'goodput >= -2 %' \\
    --within 'mos >= -0.1'
  unbloat compare a b --output a-b.html
  unbloat compare a b --format csv --table distributions
Runs of analyze, sim, lab run and model can be compared in any combination. Intervals have 95 % confidence and are
computed from repeats (sim --repeats), flows or blocks of time.
Exit codes: 0 within all tolerances, 1 failed or nothing in common, 2 usage, 4 a tolerance is exceeded")]
pub struct Args {
    /// Reference run: its name, `latest`, or its folder
    #[arg(value_parser = run_parser())]
    pub a: PathBuf,

    /// Run to compare with it
    #[arg(value_parser = run_parser())]
    pub b: PathBuf,

    /// Tolerance of B minus A, as 'RESULT [SIGN] AMOUNT [or AMOUNT]': in both directions, or with a sign < <= > >= as in
    /// [score]. RESULT is METRIC or SUBJECT.METRIC (may be repeated)
    #[allow(rustdoc::broken_intra_doc_links, reason = "brackets of the help text")]
    #[arg(long, value_name = "TOLERANCE")]
    pub within: Vec<Tolerance>,

    /// Folder for the results (must not exist): the HTML page, the tables and the JSON document
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,

    /// File to write: the HTML page
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Print JSON, one object with the whole comparison (docs/compare.md)
    #[arg(long, conflicts_with = "format")]
    pub json: bool,

    /// Print a table instead of text
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    pub format: Option<FormatKind>,

    /// Table that --format prints: quantities, distributions, conditions or judgements
    #[arg(
        long,
        value_name = "TABLE",
        default_value = "quantities",
        requires = "format"
    )]
    pub table: String,

    /// Maximum number of rows that --format table prints, and of the summary
    #[arg(long, value_name = "N", default_value_t = ROWS)]
    pub rows: usize,
}
