//! Options of `unbloat compare`.

use std::path::PathBuf;
use unbloat_compare::Tolerance;
use unbloat_run::format::FormatKind;

/// Compare two runs: show what differs, whether it matters, and whether it exceeds the noise.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat compare runs/before runs/after
  unbloat compare runs/sim runs/lab --within 'goodput 5 %' --within 'queue_delay_p95 20 % or 3 ms'
  unbloat compare runs/main runs/branch --within 'goodput >= -2 %' --within 'mos >= -0.1'
  unbloat compare runs/a runs/b --format html > a-b.html
  unbloat compare runs/a runs/b --format csv --table distributions
Runs of analyze, sim, lab run and model can be compared in any combination. Intervals have 95 % confidence and are
computed from repeats (sim --repeats), flows or blocks of time.
Exit codes: 0 within all tolerances, 1 failed or nothing in common, 2 usage, 4 a tolerance is exceeded")]
pub struct Args {
    /// Folder of the reference run
    pub a: PathBuf,

    /// Folder of the run to compare with it
    pub b: PathBuf,

    /// Tolerance of B minus A, as 'RESULT [SIGN] AMOUNT [or AMOUNT]': in both directions, or with a sign < <= > >= as in
    /// [score]. RESULT is METRIC or SUBJECT.METRIC; may be repeated
    #[arg(long, value_name = "TOLERANCE")]
    pub within: Vec<Tolerance>,

    /// Folder for the HTML page, the tables and the JSON document; must not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Print this instead of the summary: json (everything), html (the page), or one table as table, jsonl or csv
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub format: Option<Format>,

    /// Table that --format table, jsonl and csv print: quantities, distributions, conditions or judgements
    #[arg(long, default_value = "quantities", requires = "format")]
    pub table: String,

    /// Maximum number of rows of the summary and of --format table
    #[arg(long, default_value_t = 30)]
    pub rows: usize,
}

/// How a comparison is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Html,
    Rows(FormatKind),
}

fn format(name: &str) -> Result<Format, String> {
    match name {
        "json" => Ok(Format::Json),
        "html" => Ok(Format::Html),
        _ => FormatKind::from_name(name)
            .map(Format::Rows)
            .ok_or_else(|| "expected table, json, jsonl, csv or html".to_owned()),
    }
}
