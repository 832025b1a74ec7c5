//! Options of `unbloat campaign`.

use crate::analyze::parse_format;
use crate::token::TokenArgs;
use std::path::PathBuf;
use unbloat_run::format::FormatKind;

/// Measure a matrix of `unbloat test` runs and write one report
#[derive(clap::Args, Clone)]
#[command(after_help = "\
Examples:
  unbloat campaign campaigns/home-line.toml --order      list what is left, in which order, and how long it takes
  unbloat campaign campaigns/home-line.toml              measure what is left, then report
  unbloat campaign carriers.toml --only place=office     only combinations with this value
  unbloat campaign carriers.toml --report                report finished runs, measure nothing
An interrupted campaign continues with the missing runs when the command is run again.")]
pub struct Args {
    /// Campaign file (TOML, docs/campaign.md)
    pub campaign: PathBuf,

    /// Folder for runs and report; runs that are finished there are not repeated [default: runs/campaign-NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Use only combinations with this value; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub only: Vec<String>,

    /// Measure at most N runs now
    #[arg(long, value_name = "N")]
    pub most: Option<usize>,

    /// List what is left, in which order, and how long it takes; measure nothing
    #[arg(long)]
    pub order: bool,

    /// Report finished runs; measure nothing
    #[arg(long, conflicts_with = "order")]
    pub report: bool,

    /// Allow the `before` and `after` commands of the file, which run in a shell
    #[arg(long)]
    pub run_commands: bool,

    #[command(flatten)]
    pub token: TokenArgs,

    /// Print a table instead of the summary, as table, json, jsonl or csv
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub format: Option<FormatKind>,

    /// Table that --format prints: campaign, averages, results, points
    #[arg(long, default_value = "campaign", requires = "format")]
    pub table: String,

    /// Maximum number of rows that --format table prints
    #[arg(long, default_value_t = 200, requires = "format")]
    pub rows: usize,

    /// Do not show progress
    #[arg(short, long)]
    pub quiet: bool,
}
