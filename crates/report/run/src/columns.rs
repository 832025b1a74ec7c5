//! Rows to Arrow arrays: rows that come in pieces of any size are gathered column by column.
//!
//! Values and the bitmap of which are known are copied whole; unknown values at the end, which rows
//! do not store, are made up here.

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_buffer::{
    BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::mem::take;
use std::ops::Range;
use std::sync::Arc;
use unbloat_table::{ColumnData, ColumnType, Texts};

use crate::TableSchema;

/// The Arrow schema of a table; meaning and unit of each column are its field's metadata.
pub(crate) fn arrow_schema(table: &TableSchema) -> SchemaRef {
    let fields = table.columns.iter().map(|c| {
        let mut metadata = HashMap::from([("doc".to_owned(), c.doc.clone())]);
        metadata.extend(c.unit.clone().map(|unit| ("unit".to_owned(), unit)));
        Field::new(&c.name, arrow_type(c.kind), true).with_metadata(metadata)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn arrow_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::U64 => DataType::UInt64,
        ColumnType::I64 => DataType::Int64,
        ColumnType::F64 => DataType::Float64,
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Text => DataType::Utf8,
    }
}

/// Rows of one table that wait for their batch to be full.
pub(crate) struct Gathered {
    schema: SchemaRef,
    columns: Vec<Column>,
    rows: usize,
    /// Of the batch before, for which this one makes room at once.
    rows_before: usize,
}

/// One column of them.
struct Column {
    values: Values,
    known: BooleanBufferBuilder,
}

enum Values {
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
    Bool(BooleanBufferBuilder),
    Text { bytes: Vec<u8>, offsets: Vec<i32> },
}

impl Gathered {
    pub(crate) fn new(table: &TableSchema) -> Gathered {
        let columns = table.columns.iter().map(|c| Column::new(c.kind));
        Gathered {
            schema: arrow_schema(table),
            columns: columns.collect(),
            rows: 0,
            rows_before: 0,
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn append(&mut self, columns: &[ColumnData], rows: Range<usize>) {
        for (column, data) in self.columns.iter_mut().zip(columns) {
            if self.rows == 0 {
                column.make_room(self.rows_before);
            }
            column.append(data, rows.clone());
        }
        self.rows += rows.len();
    }

    /// All that was gathered, as one batch; gathering begins anew.
    pub(crate) fn take(&mut self) -> RecordBatch {
        self.rows_before = std::mem::take(&mut self.rows);
        let arrays = self.columns.iter_mut().map(Column::take).collect();
        RecordBatch::try_new(self.schema.clone(), arrays)
            .expect("columns are filled alike and have the types of their schema")
    }
}

impl Column {
    fn new(kind: ColumnType) -> Column {
        let values = match kind {
            ColumnType::U64 => Values::U64(Vec::new()),
            ColumnType::I64 => Values::I64(Vec::new()),
            ColumnType::F64 => Values::F64(Vec::new()),
            ColumnType::Bool => Values::Bool(BooleanBufferBuilder::new(0)),
            ColumnType::Text => Values::Text {
                bytes: Vec::new(),
                offsets: vec![0],
            },
        };
        Column {
            values,
            known: BooleanBufferBuilder::new(0),
        }
    }

    fn make_room(&mut self, rows: usize) {
        self.known.reserve(rows);
        match &mut self.values {
            Values::U64(values) => values.reserve(rows),
            Values::I64(values) => values.reserve(rows),
            Values::F64(values) => values.reserve(rows),
            Values::Bool(values) => values.reserve(rows),
            Values::Text { offsets, .. } => offsets.reserve(rows),
        }
    }

    fn append(&mut self, data: &ColumnData, rows: Range<usize>) {
        let known = &mut self.known;
        match (&mut self.values, data) {
            (Values::U64(to), ColumnData::U64(from)) => append_plain(to, known, from, rows),
            (Values::I64(to), ColumnData::I64(from)) => append_plain(to, known, from, rows),
            (Values::F64(to), ColumnData::F64(from)) => append_plain(to, known, from, rows),
            (Values::Bool(to), ColumnData::Bool(from)) => {
                append_known(known, from.known(), from.plain().len(), &rows);
                let value = |i| from.get(rows.start + i).unwrap_or_default();
                to.append_buffer(&BooleanBuffer::collect_bool(rows.len(), value));
            }
            (Values::Text { bytes, offsets }, ColumnData::Text(from)) => {
                append_known(known, from.known(), from.stored(), &rows);
                append_text(bytes, offsets, from, rows);
            }
            _ => unreachable!("rows of a table have the types of its schema"),
        }
    }

    fn take(&mut self) -> ArrayRef {
        let known = NullBuffer::new(self.known.finish());
        let known = (known.null_count() > 0).then_some(known);
        match &mut self.values {
            Values::U64(v) => Arc::new(UInt64Array::new(take(v).into(), known)),
            Values::I64(v) => Arc::new(Int64Array::new(take(v).into(), known)),
            Values::F64(v) => Arc::new(Float64Array::new(take(v).into(), known)),
            Values::Bool(v) => Arc::new(BooleanArray::new(v.finish(), known)),
            Values::Text { bytes, offsets } => {
                let offsets = std::mem::replace(offsets, vec![0]);
                let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
                Arc::new(StringArray::new(
                    offsets,
                    Buffer::from_vec(take(bytes)),
                    known,
                ))
            }
        }
    }
}

fn append_plain<T: Copy + Default>(
    to: &mut Vec<T>,
    known: &mut BooleanBufferBuilder,
    from: &unbloat_table::Values<T>,
    rows: Range<usize>,
) {
    let wanted = to.len() + rows.len();
    let stored = rows.end.min(from.plain().len());
    to.extend_from_slice(&from.plain()[rows.start.min(stored)..stored]);
    to.resize(wanted, T::default());
    append_known(known, from.known(), from.plain().len(), &rows);
}

/// `len` rows end with the last known one; without `bits` all of them are known.
fn append_known(
    known: &mut BooleanBufferBuilder,
    bits: Option<&[u8]>,
    len: usize,
    rows: &Range<usize>,
) {
    let stored = rows.end.min(len).max(rows.start);
    match bits {
        Some(bits) => known.append_packed_range(rows.start..stored, bits),
        None => known.append_n(stored - rows.start, true),
    }
    known.append_n(rows.end - stored, false);
}

fn append_text(bytes: &mut Vec<u8>, offsets: &mut Vec<i32>, from: &Texts, rows: Range<usize>) {
    let (base, start) = (bytes.len(), from.start(rows.start));
    bytes.extend_from_slice(&from.bytes().as_bytes()[start..from.start(rows.end)]);
    assert!(
        i32::try_from(bytes.len()).is_ok(),
        "batches are cut long before 2 GiB"
    );
    offsets.extend(rows.map(|row| (base + from.start(row + 1) - start) as i32));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Batch;
    use unbloat_table::{Column, Order, Rows, Table};

    fn table() -> Table {
        Table {
            name: "t",
            doc: "",
            columns: vec![
                Column::of::<u64>("count", ""),
                Column::of::<bool>("yes", ""),
                Column::of::<&str>("name", ""),
                Column::of::<f64>("rtt_ms", "the round trip"),
            ],
        }
    }

    fn rows(n: usize) -> Rows {
        let mut rows = Rows::new(&table());
        for i in 0..n {
            rows.row(Order::default(), |row| {
                row.cell((i % 3 != 0).then_some(i as u64));
                row.cell((i % 5 != 0).then_some(i % 2 == 0));
                row.cell(
                    (i % 7 != 0)
                        .then(|| "ünicode".get(..i % 4 * 2 + 1))
                        .flatten(),
                );
                row.cell((i % 2 == 0).then_some(i as f64 / 3.0));
            });
        }
        rows
    }

    #[test]
    fn pieces_of_any_size_give_the_same_batch() {
        let all = rows(1000);
        let schema = TableSchema::from(&table());
        for piece in [1, 7, 64, 333, 1000] {
            let mut gathered = Gathered::new(&schema);
            for start in (0..1000).step_by(piece) {
                gathered.append(all.columns(), start..(start + piece).min(1000));
            }
            assert_eq!(gathered.rows(), 1000);
            let batch = Batch::from_arrow("t", &gathered.take()).expect("our own types");
            assert_eq!(batch.columns(), all.columns(), "pieces of {piece}");
            assert_eq!(gathered.take().num_rows(), 0);
        }
    }

    #[test]
    fn meaning_and_unit_travel_with_the_column() {
        let schema = arrow_schema(&TableSchema::from(&table()));
        let metadata = schema.field(3).metadata();
        assert_eq!(metadata["doc"], "the round trip");
        assert_eq!(metadata["unit"], "ms");
        assert!(!schema.field(0).metadata().contains_key("unit"));
    }
}
