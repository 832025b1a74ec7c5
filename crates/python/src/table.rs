//! Tables of runs, by the Arrow PyCapsule interface: what another library reads of them is not copied.

use crate::error;
use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::path::Path;
use unbloat_run::{ArrowBatches, RunReader, StoredTable};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Table>()
}

/// Name, Arrow type, unit and meaning of a column.
type Described = (String, String, Option<String>, String);

/// A table of a finished run, read from its file whenever it is asked for.
#[pyclass(frozen, module = "unbloat._core")]
pub(crate) struct Table {
    reader: RunReader,
    stored: StoredTable,
}

impl Table {
    pub(crate) fn open(run: &Path, name: &str) -> PyResult<Table> {
        let reader = RunReader::open(run).map_err(|error| error::of_run(&error))?;
        let stored = reader.table(name).map_err(|error| error::of_run(&error))?;
        let stored = stored.clone();
        Ok(Table { reader, stored })
    }

    fn batches(&self) -> PyResult<ArrowBatches> {
        let batches = self.reader.read_arrow(&self.stored.schema.name);
        batches.map_err(|error| error::of_run(&error))
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> &str {
        &self.stored.schema.name
    }

    /// What one row is.
    #[getter]
    fn doc(&self) -> &str {
        &self.stored.schema.doc
    }

    /// The name of the table's file in the run's folder.
    #[getter]
    fn file(&self) -> &str {
        &self.stored.file
    }

    /// Name, type, unit and meaning of each column.
    fn columns(&self) -> PyResult<Vec<Described>> {
        let schema = self.batches()?.schema();
        let columns = self.stored.schema.columns.iter().map(|column| {
            let field = schema.field_with_name(&column.name);
            let kind = field.map_err(|error| error::of_run(&error))?.data_type();
            Ok((
                column.name.clone(),
                kind.to_string(),
                column.unit.clone(),
                column.doc.clone(),
            ))
        });
        columns.collect()
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.stored.rows).unwrap_or(usize::MAX)
    }

    /// The Arrow C schema; metadata of its fields are `doc` and `unit`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batches()?.schema().as_ref());
        let schema = schema.map_err(|error| error::of_run(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows as an Arrow C stream. They come in the table's own types, whatever schema is requested.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a producer to ignore the request.
        let _ = requested_schema;
        let stream = FFI_ArrowArrayStream::new(Box::new(self.batches()?));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
