//! Options of all commands that run scenarios.

use crate::output::{ROWS, format_parser};
use std::path::PathBuf;
use unbloat_run::format::FormatKind;

#[derive(clap::Args, Clone)]
pub struct Common {
    /// Scenario file (TOML)
    pub scenario: PathBuf,

    /// Set a key of the scenario; an array makes a sweep if the key takes a single value; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Seed of the random numbers; the following repeats use the next numbers [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Number of runs of each point, each with its own seed [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: Option<u32>,

    /// Results to show for each point, as SUBJECT.METRIC, comma-separated
    #[arg(long, value_name = "RESULT", value_delimiter = ',')]
    pub show: Vec<String>,

    /// Folder for the results; must not exist [default: an unused name in runs/]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,

    /// Do not write a folder with the results
    #[arg(long, conflicts_with = "out")]
    pub no_run: bool,

    /// Print a table instead of text; writes a run folder only with --out
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    pub format: Option<FormatKind>,

    /// Table that --format prints: averages, results, points, queue_series, window_series ...
    #[arg(
        long,
        value_name = "TABLE",
        default_value = "averages",
        requires = "format"
    )]
    pub table: String,

    /// Maximum number of rows that --format table prints
    #[arg(long, value_name = "N", default_value_t = ROWS, requires = "format")]
    pub rows: usize,

    /// Do not show progress
    #[arg(short, long)]
    pub quiet: bool,
}

impl Common {
    /// Whether to write a run folder.
    pub fn writes_run(&self) -> bool {
        !self.no_run && (self.format.is_none() || self.out.is_some())
    }
}
