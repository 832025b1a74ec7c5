//! What can go wrong.

use unbloat_capture::CaptureError;

/// How a damaged file of a place is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// By indexing captures again.
    Index,
    /// By dealing this slice again.
    Deal(u32),
    /// By sealing again.
    Seal,
    /// By analysing this bucket again.
    Shard(u32),
    /// Not: other files depend on it.
    None,
}

impl Repair {
    fn advice(self, place: &str) -> String {
        let run = |files: &[String], step: &str| {
            let files: Vec<String> = files.iter().map(|file| format!("{place}/{file}")).collect();
            format!(
                "delete {} and run `unbloat cluster {step}` again",
                files.join(" and ")
            )
        };
        let seal = crate::seal::FILE.to_owned();
        match self {
            Repair::Index => format!(
                "delete it and run `unbloat cluster index {place} CAPTURE...` with all captures again"
            ),
            Repair::Deal(slice) => run(
                &[crate::deal::commit_file(slice), seal],
                &format!("deal {place} --slice {slice}"),
            ),
            Repair::Seal => run(&[seal], &format!("seal {place}")),
            Repair::Shard(bucket) => run(
                &[crate::shard::commit_file(bucket)],
                &format!("shard {place} --bucket {bucket}"),
            ),
            Repair::None => format!("delete {place} and begin again"),
        }
    }
}

/// Why a step of a distributed analysis failed.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error("{place}: {source}")]
    Store {
        place: String,
        source: object_store::Error,
    },
    #[error("{place} is not a folder or an address such as s3://bucket/folder: {reason}")]
    Place { place: String, reason: String },
    #[error("no capture matches {pattern}")]
    NoMatch { pattern: String },
    #[error("cannot start: {0}")]
    Start(#[from] std::io::Error),
    #[error("cannot get random numbers from the system: {0}")]
    Random(getrandom::Error),
    #[error("{file} does not exist; run `unbloat cluster {step} {place}` first")]
    Missing {
        file: String,
        step: &'static str,
        place: String,
    },
    #[error("{place}/{file} is damaged: {reason}; {}", repair.advice(place))]
    Damaged {
        place: String,
        file: String,
        reason: String,
        repair: Repair,
    },
    #[error(
        "{file} was written by unbloat {theirs}, and this is {ours}; use one version for all steps, or another folder"
    )]
    Version {
        file: String,
        theirs: String,
        ours: String,
    },
    #[error(
        "{file} belongs to another plan than {place}/plan.json; two analyses cannot share a folder: use another one"
    )]
    OtherPlan { file: String, place: String },
    #[error("{place} was begun with {what}; use the same options, or another folder")]
    OtherOptions { place: String, what: &'static str },
    #[error("{place} has no {what} {number}; the plan has {count}, numbered from 0")]
    NoSuch {
        place: String,
        what: &'static str,
        number: u32,
        count: u32,
    },
    #[error("{input} has changed since it was indexed; use another folder")]
    Changed { input: String },
    #[error(
        "more than {most} flows have a client with the lower port, so their direction depends on all packets before; name the clients by --client-net, or analyse these captures with `unbloat analyze`"
    )]
    TooManyReversed { most: usize },
    #[error("no packet in any capture of {place}")]
    NoPackets { place: String },
    #[error("stopped")]
    Stopped,
}
