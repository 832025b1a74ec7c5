//! Options of `unbloat campaign`.

use crate::output::FormatArgs;
use crate::token::TokenArgs;
use std::path::PathBuf;

/// Measure a matrix of `unbloat test` runs and write one report.
#[derive(clap::Args, Clone)]
#[command(after_help = "\
Examples:
  # list what is left, in which order, and how long it takes
  unbloat campaign campaigns/home-line.toml --list
  # measure what is left, then report
  unbloat campaign campaigns/home-line.toml
  # only combinations with this value
  unbloat campaign carriers.toml --only place=office
  # report finished runs, measure nothing
  unbloat campaign carriers.toml --report
An interrupted campaign continues with the missing runs when the command is run again.")]
pub struct Args {
    /// Campaign file (TOML, docs/campaign.md)
    pub campaign: PathBuf,

    /// Folder for the results. Runs that are finished there are not repeated [default: campaign-NAME among the runs of this user]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,

    /// Use only combinations with this value (may be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    pub only: Vec<String>,

    /// Measure at most N runs now
    #[arg(long, value_name = "N")]
    pub max_runs: Option<usize>,

    /// List what is left, in which order, and how long it takes, and measure nothing
    #[arg(long)]
    pub list: bool,

    /// Report finished runs, and measure nothing
    #[arg(long, conflicts_with = "list")]
    pub report: bool,

    /// Allow the `before` and `after` commands of the file, which run in a shell
    #[arg(long)]
    pub run_commands: bool,

    #[command(flatten)]
    pub token: TokenArgs,

    #[command(flatten)]
    pub print: FormatArgs,

    /// Table that --format prints: campaign, averages, results, points
    #[arg(
        long,
        value_name = "TABLE",
        default_value = "campaign",
        requires = "format"
    )]
    pub table: String,

    /// Do not show progress
    #[arg(short, long)]
    pub quiet: bool,
}
