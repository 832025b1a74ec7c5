//! `unbloat compare`.

use crate::error;
use crate::work::interruptible;
use pyo3::prelude::*;
use std::path::PathBuf;
use unbloat_api::compare::{Document, Pair, SideBySideError, side_by_side, write_folder};
use unbloat_compare::{Comparison, Tolerance};
use unbloat_html::comparison_text;
use unbloat_run::find_run;

/// Columns of the text, and the most rows of a table in it, as the command has them where it does not write to a terminal.
const WIDTH: usize = 200;
const ROWS: usize = 40;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(compare, module)?)
}

/// Compares two run folders into the folder `out`. Returns the command's text, its JSON document, and whether all tolerances hold.
#[pyfunction]
fn compare(
    py: Python<'_>,
    a: PathBuf,
    b: PathBuf,
    within: Vec<String>,
    out: PathBuf,
    command: Vec<String>,
) -> PyResult<(String, String, bool)> {
    let within = within.iter().map(|text| {
        let parsed = text.parse::<Tolerance>();
        parsed.map_err(|why| error::invalid("within", text, &why))
    });
    let pair = Pair {
        a: find_run(&a),
        b: find_run(&b),
        within: within.collect::<PyResult<_>>()?,
    };
    let done = interruptible(py, |_| {
        let comparison = side_by_side(&pair)?;
        write_folder(&out, &pair, &comparison, command)?;
        described(&comparison)
    })?;
    done.map_err(|error| error::of_run(&error))
}

fn described(comparison: &Comparison) -> Result<(String, String, bool), SideBySideError> {
    Ok((
        comparison_text(comparison, WIDTH, ROWS),
        Document::of(comparison).text()?,
        comparison.judgements.iter().all(|one| one.holds),
    ))
}
