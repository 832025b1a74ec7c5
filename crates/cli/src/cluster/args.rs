//! Options of `unbloat cluster`.

use crate::analyze::{OrientationArgs, ParamArgs};
use std::path::PathBuf;

/// Analyze captures too large for one machine, on several.
#[derive(clap::Args)]
#[command(after_help = "\
Examples (the steps in their order; each may run on many machines at once, and be repeated after a failure):
  # once for each capture, or with all of them
  unbloat cluster index /shared/job 'caps/*.pcap'
  unbloat cluster plan /shared/job --slices 64 --buckets 64
  # once for each slice
  unbloat cluster deal /shared/job --slice 0
  # once for each bucket
  unbloat cluster shard /shared/job --bucket 0
  # writes the run that `unbloat analyze` writes
  unbloat cluster merge /shared/job --out run-1
docs/cluster.md has examples for a shell loop, Slurm, Kubernetes and Spark.")]
pub struct Args {
    #[command(subcommand)]
    pub step: Step,
}

#[derive(clap::Subcommand)]
pub enum Step {
    Index(IndexArgs),
    Plan(Box<PlanArgs>),
    Deal(DealArgs),
    Seal(SealArgs),
    Shard(ShardArgs),
    Merge(MergeArgs),
}

#[derive(clap::Args)]
pub struct PlaceArgs {
    /// Folder that all machines share, or an address such as s3://bucket/folder. The steps keep their files in it
    #[arg(value_name = "PLACE")]
    pub place: String,
}

/// Read captures once and store what the other steps need to know of them.
#[derive(clap::Args)]
pub struct IndexArgs {
    #[command(flatten)]
    pub place: PlaceArgs,

    /// Captures (pcap or pcapng; plain, gzip, zstd or lz4), patterns like 'cap*.pcap', or addresses such as
    /// s3://bucket/*.pcap
    #[arg(value_name = "CAPTURE", required = true)]
    pub inputs: Vec<String>,

    #[command(flatten)]
    pub orientation: OrientationArgs,
}

/// Cut the trace of all indexed captures into slices of time and buckets of clients.
#[derive(clap::Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub place: PlaceArgs,

    /// Number of parts of the time (a task each) [default: one for each 4 million packets]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub slices: Option<u32>,

    /// Number of parts of the clients (a task each) [default: as many as slices, at most 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub buckets: Option<u32>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub params: ParamArgs,
}

/// Parse slices and deal their packets to the buckets of their clients.
#[derive(clap::Args)]
pub struct DealArgs {
    #[command(flatten)]
    pub place: PlaceArgs,

    /// Number of a slice, from 0 (may be repeated) [default: all]
    #[arg(long, value_name = "N")]
    pub slice: Vec<u32>,
}

/// Check that the slices fit together. `shard` does it if nobody has.
#[derive(clap::Args)]
pub struct SealArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Analyse the packets of buckets.
#[derive(clap::Args)]
pub struct ShardArgs {
    #[command(flatten)]
    pub place: PlaceArgs,

    /// Number of a bucket, from 0 (may be repeated) [default: all]
    #[arg(long, value_name = "N")]
    pub bucket: Vec<u32>,
}

/// Merge the rows of all buckets into a run with verdict, report and tables.
#[derive(clap::Args)]
pub struct MergeArgs {
    #[command(flatten)]
    pub place: PlaceArgs,

    /// Folder for the results (must not exist) [default: an unused name among the runs of this user]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}
