//! What all steps of one analysis share from its first index on.

use crate::error::Repair;
use crate::{ClusterError, Place};
use serde::{Deserialize, Serialize};
use unbloat_trace::Network;
use unbloat_wire::{FlowHasher, Parser, ParserParams};

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
    /// Keys the hashes of flows.
    pub hash_seed: u64,
    pub reading: Reading,
}

const FILE: &str = "job.json";

impl Job {
    /// That of the place; the first to come decides how packets are read.
    pub(crate) fn begin(place: &Place, reading: &Reading) -> Result<Job, ClusterError> {
        let own = Job {
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
        let job: Option<Job> = place.document(FILE, Repair::None)?;
        job.ok_or_else(|| place.missing(FILE, "index"))
    }
}
