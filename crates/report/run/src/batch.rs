//! Rows read back from a run: Arrow arrays to columns of `Option`s.

use crate::RunError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrowPrimitiveType, RecordBatch};
use arrow_schema::DataType;
use unbloat_table::{ColumnData, Rows, Table, Values};

/// Some consecutive rows of a stored table; columns are found by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    names: Vec<String>,
    columns: Vec<ColumnData>,
    rows: usize,
}

impl Batch {
    /// Rows that no run has yet.
    pub fn of(table: &Table, rows: &Rows) -> Batch {
        let names = table.columns.iter().map(|column| column.name.to_string());
        Batch {
            names: names.collect(),
            columns: rows.columns().to_vec(),
            rows: rows.len(),
        }
    }

    pub(crate) fn from_arrow(table: &str, batch: &RecordBatch) -> Result<Batch, RunError> {
        let schema = batch.schema_ref();
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (field, array) in schema.fields().iter().zip(batch.columns()) {
            let data = column_data(array.as_ref()).ok_or_else(|| RunError::ColumnType {
                table: table.to_owned(),
                column: field.name().clone(),
                found: field.data_type().to_string(),
            })?;
            columns.push(data);
        }
        Ok(Batch {
            names: schema.fields().iter().map(|f| f.name().clone()).collect(),
            columns,
            rows: batch.num_rows(),
        })
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The columns that were asked for, in the order of the table.
    pub fn columns(&self) -> &[ColumnData] {
        &self.columns
    }

    /// Names of [`Batch::columns`].
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A column by name; `None` if it was not read.
    pub fn column(&self, name: &str) -> Option<&ColumnData> {
        let at = self.names.iter().position(|n| n == name)?;
        Some(&self.columns[at])
    }
}

fn column_data(array: &dyn Array) -> Option<ColumnData> {
    Some(match array.data_type() {
        DataType::UInt64 => ColumnData::U64(plain::<UInt64Type>(array)),
        DataType::Int64 => ColumnData::I64(plain::<Int64Type>(array)),
        DataType::Float64 => ColumnData::F64(plain::<Float64Type>(array)),
        DataType::Boolean => ColumnData::Bool(array.as_boolean().iter().collect()),
        DataType::Utf8 => ColumnData::Text(array.as_string::<i32>().iter().collect()),
        _ => return None,
    })
}

fn plain<T: ArrowPrimitiveType>(array: &dyn Array) -> Values<T::Native> {
    let array = array.as_primitive::<T>();
    let known = array.nulls().map(|known| known.inner().sliced().to_vec());
    Values::of(array.values().to_vec(), known)
}
