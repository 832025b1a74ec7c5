//! Options of `unbloat paper`.

use crate::output::{FormatArgs, RunArgs};
use crate::run_name::run_parser;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Reproduce figures and tables of published studies, and compare.
///
/// Six studies are built in. Each figure has a scenario with the parameters of its paper, and the statements of the
/// paper as values, bounds and orders. A figure agrees if all of them hold.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  # all papers and figures
  unbloat paper list
  unbloat paper imc2012 fig9
  # all figures of a paper
  unbloat paper cellnet2012
  unbloat paper all --out figures
  # with Linux's TCP
  unbloat paper imc2012 fig9 --clock virtual
  # your capture beside the study's figures
  unbloat paper sigcomm2013 --with trace.pcap
  unbloat paper cacm fig5 --with campaign-MATRIX
  unbloat paper mine2026 --papers my-papers
A value agrees if ours is within 20 % of it or our repeats lie on both sides of it, a change if all repeats have its direction and
it is 2 % or more. With a figure that differs for no known reason the exit code is 4.")]
pub struct Args {
    /// Paper, such as imc2012, or `all`, or `list` for the papers and their figures
    pub paper: String,

    /// Figures, such as fig9 [default: all of the paper]
    #[arg(value_name = "FIGURE")]
    pub figures: Vec<String>,

    /// What runs the scenarios: the simulator, or Linux's TCP in virtual time or on this host (needs root)
    #[arg(long, value_enum, default_value = "sim")]
    pub clock: Clock,

    /// Run, campaign or capture of your own to draw into the figures that have such data
    #[arg(long, value_name = "RUN|CAPTURE", value_parser = run_parser())]
    pub with: Option<PathBuf>,

    /// Folder of papers in place of the built-in ones: one folder for each, as papers/README.md of the source describes
    #[arg(long, value_name = "PAPERS")]
    pub papers: Option<PathBuf>,

    /// Seed of the random numbers. The following repeats use the next numbers [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Number of runs of each point, each with its own seed [default: the figure's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: Option<u32>,

    /// Number of threads (does not affect results) [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    #[command(flatten)]
    pub run: RunArgs,

    #[command(flatten)]
    pub print: FormatArgs,

    /// Print JSON
    #[arg(long, conflicts_with = "format")]
    pub json: bool,

    /// Table that --format prints: verdicts, claims, curves or effects
    #[arg(
        long,
        value_name = "TABLE",
        default_value = "verdicts",
        requires = "format"
    )]
    pub table: String,

    /// Do not show progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// What runs a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Clock {
    /// Simulated TCP in virtual time
    Sim,
    /// Linux's TCP in virtual time, in a separate kernel
    Virtual,
    /// Linux's TCP on this host, in real time
    Lab,
}

impl Args {
    pub fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(all, NonZeroUsize::get)
    }
}
