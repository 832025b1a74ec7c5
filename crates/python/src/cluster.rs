//! `unbloat cluster`: the steps of an analysis that many machines share.

use crate::analyze::parsed;
use crate::error::{self, CaptureError, ClusterError};
use crate::work::interruptible;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use unbloat_api::cluster::{MergeError, merge, steps};
use unbloat_api::folder::NewRun;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(cluster_expand, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_index, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_plan, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_deal, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_seal, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_shard, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_merge, module)?)
}

fn failed(error: &steps::ClusterError) -> PyErr {
    match error {
        steps::ClusterError::Capture(_) | steps::ClusterError::NoMatch { .. } => {
            CaptureError::new_err(error::text(error))
        }
        _ => ClusterError::new_err(error::text(error)),
    }
}

/// Runs a step in a place; the step gets what to ask whether Ctrl-C was pressed.
fn step<T: Send>(
    py: Python<'_>,
    place: &str,
    work: impl FnOnce(&steps::Place, &dyn Fn() -> bool) -> Result<T, steps::ClusterError> + Send,
) -> PyResult<T> {
    let done = interruptible(py, |stop| {
        work(&steps::Place::open(place)?, &|| {
            stop.load(Ordering::Relaxed)
        })
    })?;
    done.map_err(|error| failed(&error))
}

/// The names of the captures that patterns match.
#[pyfunction]
fn cluster_expand(py: Python<'_>, inputs: Vec<String>) -> PyResult<Vec<String>> {
    let expanded = interruptible(py, |_| steps::expand(&inputs))?;
    let expanded = expanded.map_err(|error| failed(&error))?;
    Ok(expanded.iter().map(ToString::to_string).collect())
}

/// Packets of each capture, and what is damaged in it.
#[pyfunction]
fn cluster_index(
    py: Python<'_>,
    place: &str,
    inputs: Vec<String>,
    options: BTreeMap<String, Vec<String>>,
) -> PyResult<Vec<(String, u64, Vec<String>)>> {
    let options = parsed(options)?;
    let reading = steps::Reading {
        client_nets: options.client_nets,
        gtp_ports: options.parser.gtp_ports,
    };
    let indexes = step(py, place, |place, is_stopped| {
        steps::index(place, &steps::expand(&inputs)?, &reading, is_stopped)
    })?;
    let indexes = indexes.into_iter().map(|index| {
        let damage = index.notes.damage.iter().map(error::text);
        (error::text(&index.input), index.packets, damage.collect())
    });
    Ok(indexes.collect())
}

/// Captures, packets, slices and buckets.
#[pyfunction]
#[pyo3(signature = (place, slices, buckets, options))]
fn cluster_plan(
    py: Python<'_>,
    place: &str,
    slices: Option<u32>,
    buckets: Option<u32>,
    options: BTreeMap<String, Vec<String>>,
) -> PyResult<(usize, u64, u32, u32)> {
    let options = parsed(options)?;
    let asked = steps::AskedCut {
        slices,
        buckets,
        warm_up_batches: None,
    };
    let plan = step(py, place, |place, _| {
        steps::plan(place, &options.params, asked)
    })?;
    Ok((
        plan.inputs.len(),
        plan.packets,
        plan.cut.slices,
        plan.cut.buckets,
    ))
}

/// Packets of the slice.
#[pyfunction]
fn cluster_deal(py: Python<'_>, place: &str, slice: u32) -> PyResult<u64> {
    let dealt = step(py, place, |place, is_stopped| {
        steps::deal(place, slice, is_stopped)
    })?;
    Ok(dealt.packets)
}

/// Slices that were dealt again.
#[pyfunction]
fn cluster_seal(py: Python<'_>, place: &str) -> PyResult<Vec<u32>> {
    let sealed = step(py, place, |place, is_stopped| {
        steps::seal(place, is_stopped)
    })?;
    Ok(sealed.dealt_again)
}

#[pyfunction]
fn cluster_shard(py: Python<'_>, place: &str, bucket: u32) -> PyResult<()> {
    step(py, place, |place, is_stopped| {
        steps::shard(place, bucket, is_stopped).map(drop)
    })
}

#[pyfunction]
fn cluster_merge(
    py: Python<'_>,
    place: &str,
    out: PathBuf,
    publish: bool,
    command: Vec<String>,
) -> PyResult<()> {
    let run = NewRun {
        out: Some(out),
        command,
        is_published: publish,
    };
    let done = interruptible(py, |_| merge(&steps::Place::open(place)?, run).map(drop))?;
    done.map_err(|error| match &error {
        MergeError::Cluster(error) => failed(error),
        MergeError::Analyze(_) | MergeError::Temporary(_) => error::of_run(&error),
    })
}
