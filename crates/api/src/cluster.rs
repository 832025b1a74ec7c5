//! The last step of a distributed analysis: from the rows of all machines to one run.

use crate::analyze::{AnalyzeError, Keep, Options, Store, Stored};
use crate::folder::NewRun;
use std::path::Path;
use unbloat_analyze::Outcome;
use unbloat_cluster::{ClusterError, Place, Plan};
use unbloat_wire::ParserParams;

pub use unbloat_cluster as steps;

/// Why the rows of a cluster could not be made a run.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Analyze(#[from] AnalyzeError),
    #[error("cannot create a temporary folder: {0}")]
    Temporary(std::io::Error),
}

/// Merges the rows of all buckets of a place into a run: the one that [`analyze`](crate::analyze::analyze()) writes from the same
/// captures, with the same tables, byte for byte. The folder of `run` may be the address of an object store: then the run is
/// written to a temporary folder first.
///
/// # Errors
/// A bucket has not been analysed, a file of the place is damaged, or the run cannot be written.
pub fn merge(place: &Place, run: NewRun) -> Result<(Outcome, Stored), MergeError> {
    let out = run.out.clone();
    let path = out.as_deref().and_then(Path::to_str);
    match path.filter(|path| path.contains("://")) {
        None => merge_here(place, run),
        Some(address) => {
            let temporary = tempfile::tempdir().map_err(MergeError::Temporary)?;
            let local = NewRun {
                out: Some(temporary.path().join("run")),
                ..run
            };
            let (outcome, mut stored) = merge_here(place, local)?;
            if let Some(dir) = &stored.dir {
                Place::open(address)?.upload(dir)?;
            }
            stored.dir = out;
            Ok((outcome, stored))
        }
    }
}

fn merge_here(place: &Place, run: NewRun) -> Result<(Outcome, Stored), MergeError> {
    let plan = Plan::of(place)?;
    let inputs = plan.inputs.iter().map(|input| unbloat_run::Input {
        name: input.name.clone(),
        size_bytes: input.size_bytes,
    });
    let options = Options {
        params: plan.params.clone(),
        parser: ParserParams {
            gtp_ports: plan.reading.gtp_ports.clone(),
            ..ParserParams::default()
        },
        client_nets: plan.reading.client_nets.clone(),
        threads: plan.cut.buckets as usize,
    };
    let mut store = Store::open(&options, inputs.collect(), Keep::run(run))?;
    let (_, outcome) =
        unbloat_cluster::merge::<MergeError>(place, &mut |output| Ok(store.take(output)?))?;
    let stored = store.finish(&outcome)?.written()?;
    Ok((outcome, stored))
}
