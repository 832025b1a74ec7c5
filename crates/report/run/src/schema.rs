//! A table's columns as they are stored: owned names, so that they can also come from a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unbloat_table::{ColumnType, Table};

/// What one table holds; the owned twin of [`Table`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableSchema {
    pub name: String,
    /// What one row is.
    pub doc: String,
    pub columns: Vec<ColumnSchema>,
}

/// One column; the owned twin of [`unbloat_table::Column`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnSchema {
    pub name: String,
    #[serde(rename = "type", with = "TypeName")]
    pub kind: ColumnType,
    /// The unit told by the name's suffix, see [`unit_of`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    pub doc: String,
}

/// A table of a run: its schema, its file in the run folder and how many rows are in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredTable {
    pub file: String,
    pub rows: u64,
    #[serde(flatten)]
    pub schema: TableSchema,
}

/// The names of [`ColumnType`] in run.json.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(remote = "ColumnType", rename_all = "lowercase")]
enum TypeName {
    U64,
    I64,
    F64,
    Bool,
    Text,
}

impl From<&Table> for TableSchema {
    fn from(table: &Table) -> TableSchema {
        let columns = table.columns.iter().map(|c| ColumnSchema {
            name: c.name.to_owned(),
            kind: c.kind,
            unit: unit_of(c.name).map(str::to_owned),
            doc: c.doc.to_owned(),
        });
        TableSchema {
            name: table.name.to_owned(),
            doc: table.doc.to_owned(),
            columns: columns.collect(),
        }
    }
}

pub(crate) fn type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::U64 => "u64",
        ColumnType::I64 => "i64",
        ColumnType::F64 => "f64",
        ColumnType::Bool => "bool",
        ColumnType::Text => "text",
    }
}

/// Suffixes of column names and the units that they stand for.
const UNITS: &[(&str, &str)] = &[
    ("_ns", "ns"),
    ("_ms", "ms"),
    ("_s", "s"),
    ("_bps", "bit/s"),
    ("_bytes", "B"),
    ("_packets", "packets"),
    ("_mj", "mJ"),
    ("_j", "J"),
    ("_pct", "%"),
    ("_bdp", "BDP"),
];

/// The unit that a column's name ends with: `rtt_ms` is in ms, `rate_bps` in bit/s; counts, shares
/// and ratios have none.
pub fn unit_of(column: &str) -> Option<&'static str> {
    let known = UNITS.iter().find(|(suffix, _)| column.ends_with(suffix));
    known.map(|&(_, unit)| unit)
}

/// A column's name without the suffix that tells its unit.
pub(crate) fn without_unit(column: &str) -> &str {
    let bare = UNITS
        .iter()
        .find_map(|(suffix, _)| column.strip_suffix(suffix));
    bare.unwrap_or(column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_table::Column;

    #[test]
    fn the_suffix_of_a_name_tells_the_unit() {
        assert_eq!(unit_of("rtt_down_p50_ms"), Some("ms"));
        assert_eq!(unit_of("bandwidth_down_bps"), Some("bit/s"));
        assert_eq!(unit_of("close_energy_mj"), Some("mJ"));
        assert_eq!(unit_of("rtos_down"), None);
        assert_eq!(unit_of("status"), None);
        assert_eq!(without_unit("rtt_ms"), "rtt");
    }

    #[test]
    fn types_are_named_alike_in_run_json_and_in_the_docs() {
        let kinds = [
            ColumnType::U64,
            ColumnType::I64,
            ColumnType::F64,
            ColumnType::Bool,
            ColumnType::Text,
        ];
        for kind in kinds {
            let mut table = Table {
                name: "t",
                doc: "",
                columns: vec![Column::of::<u64>("c", "")],
            };
            table.columns[0].kind = kind;
            let json = serde_json::to_value(TableSchema::from(&table)).expect("plain data");
            assert_eq!(json["columns"][0]["type"], type_name(kind));
        }
    }
}
