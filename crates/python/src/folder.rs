//! Run folders.

use crate::error;
use crate::table::Table;
use crate::work::interruptible;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use unbloat_api::folder::write_report;
use unbloat_run::{RunReader, find_run};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Folder>()?;
    module.add_function(wrap_pyfunction!(draw_report, module)?)
}

/// A finished run.
#[pyclass(frozen, module = "unbloat._core")]
struct Folder {
    path: PathBuf,
    reader: RunReader,
}

#[pymethods]
impl Folder {
    #[new]
    fn new(path: PathBuf) -> PyResult<Folder> {
        let path = find_run(&path);
        let reader = RunReader::open(&path).map_err(|error| error::of_run(&error))?;
        Ok(Folder { path, reader })
    }

    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }

    /// What run.json says besides the tables, as JSON.
    fn info(&self) -> PyResult<String> {
        serde_json::to_string(self.reader.info()).map_err(|error| error::of_run(&error))
    }

    /// Names of the tables.
    fn tables(&self) -> Vec<&str> {
        let tables = self.reader.tables().iter();
        tables.map(|table| table.schema.name.as_str()).collect()
    }

    /// Name, value and unit of the headline numbers that have a value; none if the run has no table of them.
    fn headlines(&self) -> PyResult<Vec<(String, f64, String)>> {
        let columns = ["metric", "value", "unit"];
        let Ok(batches) = self.reader.read_columns("summary", &columns) else {
            return Ok(Vec::new());
        };
        let mut headlines = Vec::new();
        for batch in batches {
            let batch = batch.map_err(|error| error::of_run(&error))?;
            let text = |name, row| batch.column(name)?.as_text(row).map(str::to_owned);
            headlines.extend((0..batch.len()).filter_map(|row| {
                let value = batch.column("value")?.as_f64(row)?;
                Some((
                    text("metric", row)?,
                    value,
                    text("unit", row).unwrap_or_default(),
                ))
            }));
        }
        Ok(headlines)
    }

    fn table(&self, name: &str) -> PyResult<Table> {
        Table::open(&self.path, name)
    }
}

/// Draws the report of a run into its folder.
#[pyfunction]
#[pyo3(name = "write_report")]
fn draw_report(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    interruptible(py, |_| write_report(&path))?.map_err(|error| error::of_run(&error))
}
