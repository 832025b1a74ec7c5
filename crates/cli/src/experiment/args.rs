//! Options of all commands that run scenarios.

use crate::output::{FormatArgs, RunArgs};
use std::path::PathBuf;

#[derive(clap::Args, Clone)]
pub struct Common {
    /// Scenario file (TOML)
    pub scenario: PathBuf,

    /// Set a key of the scenario (may be repeated). An array makes a sweep if the key takes a single value
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Seed of the random numbers. The following repeats use the next numbers [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Number of runs of each point, each with its own seed [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: Option<u32>,

    /// Results to show, as SUBJECT.METRIC, comma-separated
    #[arg(long, value_name = "RESULT", value_delimiter = ',')]
    pub show: Vec<String>,

    #[command(flatten)]
    pub run: RunArgs,

    #[command(flatten)]
    pub print: FormatArgs,

    /// Table that --format prints: averages, results, points, changes, queue_series, window_series ...
    #[arg(
        long,
        value_name = "TABLE",
        default_value = "averages",
        requires = "format"
    )]
    pub table: String,

    /// Keep time series of every run of a sweep, not only of a single run
    #[arg(long)]
    pub series: bool,

    /// Do not show progress
    #[arg(short, long)]
    pub quiet: bool,
}
