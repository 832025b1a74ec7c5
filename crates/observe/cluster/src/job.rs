//! What all steps of one analysis share from its first index on.

use crate::{ClusterError, Place};
use serde::{Deserialize, Serialize};
use unbloat_trace::Network;
use unbloat_wire::{FlowHasher, Parser, ParserParams};

/// Changes whenever the files of a place do.
pub(crate) const FORMAT: u32 = 1;

/// How packets are read: the options that the index needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Networks whose addresses are clients.
    pub client_nets: Vec<Network>,
    /// UDP ports that carry GTP-U.
    pub gtp_ports: Vec<u16>,
}

/// `job.json`: written by the first index of a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub format: u32,
    /// Of unbloat: another one may count otherwise.
    pub version: String,
    /// Keys the hashes of flows.
    pub hash_seed: u64,
    pub reading: Reading,
}

const FILE: &str = "job.json";

impl Job {
    /// That of the place; the first to come decides how packets are read.
    pub(crate) fn begin(place: &Place, reading: &Reading) -> Result<Job, ClusterError> {
        let own = Job {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            hash_seed: getrandom::u64().map_err(ClusterError::Random)?,
            reading: reading.clone(),
        };
        if place.get(FILE)?.is_none() && place.commit(FILE, &own)? {
            return Ok(own);
        }
        let job = Job::of(place)?;
        if job.reading != *reading {
            return Err(ClusterError::OtherOptions {
                place: place.name().to_owned(),
                what: "other client networks or GTP ports",
            });
        }
        Ok(job)
    }

    pub(crate) fn parser(&self) -> Parser {
        let params = ParserParams {
            gtp_ports: self.reading.gtp_ports.clone(),
            ..ParserParams::default()
        };
        Parser::new(params, FlowHasher::with_seed(self.hash_seed))
    }

    pub(crate) fn of(place: &Place) -> Result<Job, ClusterError> {
        let job: Option<Job> = place.document(FILE, "index")?;
        let job = job.ok_or_else(|| place.missing(FILE, "index"))?;
        check_version(place, FILE, job.format, &job.version)?;
        Ok(job)
    }
}

pub(crate) fn check_version(
    place: &Place,
    file: &str,
    format: u32,
    version: &str,
) -> Result<(), ClusterError> {
    let ours = env!("CARGO_PKG_VERSION");
    if format == FORMAT && version == ours {
        return Ok(());
    }
    Err(ClusterError::Version {
        file: place.file(file),
        theirs: format!("{version}, format {format}"),
        ours: format!("{ours}, format {FORMAT}"),
    })
}
