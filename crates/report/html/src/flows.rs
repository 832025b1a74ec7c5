//! All columns of the flows that get a time line.

use crate::columns::{column_of, each_batch_of};
use crate::numbers::five_digits;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use unbloat_run::{RunError, RunReader};
use unbloat_table::ColumnData;

/// One flow: its values in the order of the table's columns.
pub(crate) struct FlowRow {
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    /// An upper bound of how many bins its series can have.
    pub(crate) packets: u64,
    pub(crate) values: Vec<Value>,
}

pub(crate) fn flow_rows(
    run: &RunReader,
    ids: &BTreeSet<u64>,
) -> Result<BTreeMap<u64, FlowRow>, RunError> {
    let mut found = BTreeMap::new();
    if ids.is_empty() {
        return Ok(found);
    }
    let columns = &run.table("flows")?.schema.columns;
    let columns: Vec<&str> = columns.iter().map(|column| &column.name[..]).collect();
    // Of hundreds of thousands of flows only these are decoded, in all their columns.
    each_batch_of(run, ids, "flows", &columns, |batch| {
        let id = column_of(batch, "flow_id");
        let (start, end) = (column_of(batch, "start_ns"), column_of(batch, "end_ns"));
        let packets = ["packets_up", "packets_down"].map(|name| column_of(batch, name));
        for row in 0..batch.len() {
            let Some(id) = id.u64(row) else { continue };
            let values = batch.columns().iter().map(|column| json(column, row));
            let flow = FlowRow {
                start_ns: start.i64(row).unwrap_or(0),
                end_ns: end.i64(row).unwrap_or(0),
                packets: packets.iter().filter_map(|p| p.u64(row)).sum(),
                values: values.collect(),
            };
            found.insert(id, flow);
        }
    })?;
    Ok(found)
}

/// A value as JSON; floats with five significant digits, which no chart can show.
fn json(column: &ColumnData, row: usize) -> Value {
    match column {
        ColumnData::U64(values) => values.get(row).into(),
        ColumnData::I64(values) => values.get(row).into(),
        ColumnData::Bool(values) => values.get(row).into(),
        ColumnData::F64(values) => values.get(row).map(five_digits).into(),
        ColumnData::Text(texts) => texts.get(row).into(),
    }
}
