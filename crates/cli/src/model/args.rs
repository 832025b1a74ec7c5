//! Options of `unbloat model`.

use super::buffers::Buffers;
use crate::output::{FormatArgs, RunArgs};
use std::path::PathBuf;
use unbloat_queueing::{Load, Statistic};
use unbloat_units::{Bytes, Delta, Rate};

/// Compute delay and throughput from a buffer size, by queueing theory.
///
/// Uses the models of Jiang et al., CellNet 2012, section 3, exactly and as published. Can also find the largest buffer for a delay target,
/// and the buffer that fits a measured curve.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  # the paper's Figure 4, at 4 Mbit/s
  unbloat model
  unbloat model --rate '10 Mbit/s' --utilisation 0.95 --buffer 20..1000
  # on-off source instead of a steady one
  unbloat model --utilisation 0.9 --on '200 ms' --off '300 ms'
  unbloat model --rate '20 Mbit/s' --utilisation 1.1 --target '100 ms' \\
    --at p95
  # buffer and rate that fit a measured curve
  unbloat model --measured curve.csv
  unbloat model --buffer 10,100,1000 --format table
Models: mm1k (M/M/1/K: Poisson arrivals, exponential sizes; the paper's), md1k (M/D/1/K: packets of
equal size) and, with --on and --off, ipp_m1k (IPP/M/1/K: on-off source).")]
pub struct Args {
    /// Rate of the bottleneck [default: 4 Mbit/s, as in Figure 4, or fitted with --measured]
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,

    /// Mean packet size on the link
    #[arg(long, value_name = "SIZE", default_value = "1500 B")]
    pub packet: Bytes,

    /// Offered rate divided by the bottleneck rate (comma-separated)
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', default_value = "0.95,0.99", value_parser = parse_utilisation)]
    pub utilisation: Vec<Load>,

    /// Buffers, including the packet in transmission: packets (20, 1..200 or 10,50,100) or sizes
    /// ('30 kB..1.5 MB') [default: 1..200; with --measured: 1 to twice the fitted buffer]
    #[arg(long, value_name = "BUFFER")]
    pub buffer: Option<Buffers>,

    /// Mean duration of the source's on periods
    #[arg(long, value_name = "SPAN", requires = "off")]
    pub on: Option<Delta>,

    /// Mean duration of the source's off periods. --utilisation is the mean over both periods
    #[arg(long, value_name = "SPAN", requires = "on")]
    pub off: Option<Delta>,

    /// Rate of a link before the bottleneck (Eq. 1) (may be repeated)
    #[arg(long, value_name = "RATE")]
    pub hop: Vec<Rate>,

    /// One-way propagation delay of the whole path
    #[arg(long, value_name = "SPAN", default_value = "0 ms")]
    pub propagation: Delta,

    /// Target delay, for which to find the largest buffer
    #[arg(long, value_name = "SPAN")]
    pub target: Option<Delta>,

    /// Statistic for --target: mean, or a percentile such as p50, p95, p99
    #[arg(long, value_name = "STATISTIC", default_value = "p95", requires = "target", value_parser = parse_statistic)]
    pub at: Statistic,

    /// Fit buffer and rate to a measured curve: CSV with columns delay_mean_ms (at the bottleneck)
    /// and throughput_bps, one row per load
    #[arg(long, value_name = "FILE")]
    pub measured: Option<PathBuf>,

    #[command(flatten)]
    pub run: RunArgs,

    #[command(flatten)]
    pub print: FormatArgs,

    /// Table that --format prints: model, model_fit or summary
    #[arg(
        long,
        value_name = "TABLE",
        default_value = "model",
        requires = "format"
    )]
    pub table: String,
}

fn parse_utilisation(text: &str) -> Result<Load, String> {
    let number = text.trim().parse();
    let number =
        number.map_err(|_| format!("invalid utilisation {text:?}; use for example 0.95"))?;
    Load::new(number).map_err(|e| e.to_string())
}

fn parse_statistic(text: &str) -> Result<Statistic, String> {
    let percent = text.strip_prefix('p').and_then(|p| p.parse::<f64>().ok());
    match percent {
        _ if text == "mean" => Ok(Statistic::Mean),
        Some(p) if p > 0.0 && p < 100.0 => Ok(Statistic::Quantile(p / 100.0)),
        _ => Err("invalid statistic; use mean, or a percentile such as p95".to_owned()),
    }
}
