//! Options of `unbloat campaign`.

use crate::analyze::parse_format;
use crate::token::TokenArgs;
use std::path::PathBuf;
use unbloat_run::format::FormatKind;

/// Measures a whole matrix of latency-under-load tests and says what differs
#[derive(clap::Args, Clone)]
#[command(after_help = "\
Examples:
  unbloat campaign campaigns/home-line.toml --order      what would be measured, and how long it takes
  unbloat campaign campaigns/home-line.toml              measure what is left, then the report
  unbloat campaign carriers.toml --only place=office     only what is measured there
  unbloat campaign carriers.toml --report                report of what is there, measuring nothing
Stopped, by Ctrl-C or in any other way, it goes on where it was when it is called again.")]
pub struct Args {
    /// Campaign file (TOML, docs/campaign.md)
    pub campaign: PathBuf,

    /// Folder that holds its runs and its report; what is finished there is not measured again [default: runs/campaign-NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Only combinations with this value; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub only: Vec<String>,

    /// Measure no more than so many runs now
    #[arg(long, value_name = "N")]
    pub most: Option<usize>,

    /// Say what is left in which order and how long it takes, and do nothing
    #[arg(long)]
    pub order: bool,

    /// Make the report of what is there, and measure nothing
    #[arg(long, conflicts_with = "order")]
    pub report: bool,

    /// Let the file run its commands: `before` and `after` are given to a shell as they are written there
    #[arg(long)]
    pub run_commands: bool,

    #[command(flatten)]
    pub token: TokenArgs,

    /// Print a table to standard output instead of the report in short: table, json, jsonl or csv
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub format: Option<FormatKind>,

    /// Which table `--format` prints: campaign, averages, results, points
    #[arg(long, default_value = "campaign", requires = "format")]
    pub table: String,

    /// Rows that `--format table` prints
    #[arg(long, default_value_t = 200, requires = "format")]
    pub rows: usize,

    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}
