//! Options of whatever runs a scenario.

use crate::analyze::parse_format;
use std::path::PathBuf;
use unbloat_run::format::FormatKind;

#[derive(clap::Args, Clone)]
pub struct Common {
    /// Scenario file (TOML)
    pub scenario: PathBuf,

    /// Put another value in place; an array is swept over where the key takes a single value. May be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Seed of the first repeat; the others count on from it [default: the scenario's]
    #[arg(long)]
    pub seed: Option<u64>,

    /// Runs of each point, with a seed each [default: the scenario's]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: Option<u32>,

    /// Results to show for each point, as SUBJECT.METRIC, with commas
    #[arg(long, value_name = "RESULTS", value_delimiter = ',')]
    pub show: Vec<String>,

    /// Folder for the run; it must not exist [default: an unused name in runs/]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Write no folder and no report
    #[arg(long, conflicts_with = "out")]
    pub no_run: bool,

    /// Print a table to standard output instead of the results in short: table, json, jsonl or csv;
    /// no folder is written unless --out is given
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub format: Option<FormatKind>,

    /// Which table `--format` prints: averages, results, points, queue_series, window_series ...
    #[arg(long, default_value = "averages", requires = "format")]
    pub table: String,

    /// Rows that `--format table` prints
    #[arg(long, default_value_t = 40, requires = "format")]
    pub rows: usize,

    /// No progress bar
    #[arg(short, long)]
    pub quiet: bool,
}

impl Common {
    /// Whether a folder is wanted.
    pub fn writes_run(&self) -> bool {
        !self.no_run && (self.format.is_none() || self.out.is_some())
    }
}
