//! The native half of the Python package `unbloat`: the commands as functions, and the tables of runs as Arrow streams.
//!
//! The other half, in `python/unbloat/`, is what users see: it parses nothing and computes nothing, but gives results names, types and a
//! way to other libraries. `_core` is private to it. Each module here registers its own functions.

mod analyze;
mod cluster;
mod compare;
mod error;
mod folder;
mod program;
mod scenario;
mod table;
mod work;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::register(module)?;
    analyze::register(module)?;
    cluster::register(module)?;
    compare::register(module)?;
    folder::register(module)?;
    scenario::register(module)?;
    table::register(module)
}
