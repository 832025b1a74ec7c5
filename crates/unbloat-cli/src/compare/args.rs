//! Options of `unbloat compare`.

use std::path::PathBuf;
use unbloat_compare::Tolerance;
use unbloat_run::format::FormatKind;

/// Says what differs between two runs, whether it matters, and whether it exceeds the runs' own noise. Any two: before and
/// after, simulator and lab, model and simulator, one commit and the next.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat compare runs/before runs/after
  unbloat compare runs/sim runs/lab --within 'goodput 5 %' --within 'queue_delay_p95 20 % or 3 ms'
  unbloat compare runs/main runs/branch --within 'goodput >= -2 %' --within 'mos >= -0.1'
  unbloat compare runs/a runs/b --format html > a-b.html
  unbloat compare runs/a runs/b --format csv --table distributions
Intervals have 95 % confidence and come from repeats (sim --repeats), from flows, or from blocks of time.
Exit codes: 0 compared, and within all tolerances; 1 failed, or nothing in common; 2 usage; 4 beyond a tolerance")]
pub struct Args {
    /// Folder of the run that is compared with
    pub a: PathBuf,

    /// Folder of the run that is compared
    pub b: PathBuf,

    /// How far B may be from A, as 'RESULT [SIGN] AMOUNT [or AMOUNT]': without a sign either way, with < <= > >= as in [score].
    /// RESULT is METRIC or SUBJECT.METRIC. May be given several times
    #[arg(long, value_name = "TOLERANCE")]
    pub within: Vec<Tolerance>,

    /// Folder for the comparison: page, tables and document; it must not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Print to standard output instead of the short text: json (everything), html (the page), or rows as table, jsonl or csv
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub format: Option<Format>,

    /// Which rows `--format table`, `jsonl` and `csv` print: quantities, distributions, conditions or judgements
    #[arg(long, default_value = "quantities", requires = "format")]
    pub table: String,

    /// Rows that the short text and `--format table` show
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
            .ok_or_else(|| "there are table, json, jsonl, csv and html".to_owned()),
    }
}
