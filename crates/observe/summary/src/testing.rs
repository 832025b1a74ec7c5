//! Small tables by column name, for tests.

use unbloat_table::{Column, ColumnType, Order, Rows, Table};

#[derive(Clone, Copy)]
pub(crate) enum Value {
    U(u64),
    I(i64),
    F(f64),
    B(bool),
    T(&'static str),
}

pub(crate) type Record = Vec<(&'static str, Value)>;

/// The flows table with the columns that the panels read.
pub(crate) fn flows_table() -> Table {
    let mut columns = vec![
        Column::of::<u64>("flow_id", ""),
        Column::of::<&str>("client", ""),
        Column::of::<&str>("server", ""),
        Column::of::<u64>("server_port", ""),
        Column::of::<&str>("server_name", ""),
        Column::of::<&str>("protocol", ""),
        Column::of::<i64>("start_ns", ""),
        Column::of::<i64>("end_ns", ""),
        Column::of::<f64>("duration_ms", ""),
        Column::of::<&str>("end_cause", ""),
        Column::of::<bool>("syn_only", ""),
        Column::of::<u64>("payload_up_bytes", ""),
        Column::of::<u64>("payload_down_bytes", ""),
        Column::of::<f64>("rate_up_bps", ""),
        Column::of::<f64>("rate_down_bps", ""),
        Column::of::<f64>("last_payload_gap_ms", ""),
        Column::of::<f64>("close_delay_ms", ""),
        Column::of::<bool>("delayed_close", ""),
        Column::of::<f64>("close_energy_mj", ""),
        Column::of::<&str>("handshake", ""),
        Column::of::<bool>("pep", ""),
        Column::of::<f64>("handshake_up_ms", ""),
        Column::of::<f64>("handshake_down_ms", ""),
    ];
    for name in SIDE_NAMES {
        let column = if name.ends_with("samples") {
            Column::of::<u64>
        } else {
            Column::of::<f64>
        };
        columns.push(column(name, ""));
    }
    Table {
        name: "flows",
        doc: "",
        columns,
    }
}

const SIDE_NAMES: [&str; 14] = [
    "rtt_down_samples",
    "rtt_down_min_ms",
    "rtt_down_p50_ms",
    "added_down_p50_ms",
    "added_down_p95_ms",
    "added_down_p99_ms",
    "in_flight_down_p50_bytes",
    "rtt_up_samples",
    "rtt_up_min_ms",
    "rtt_up_p50_ms",
    "added_up_p50_ms",
    "added_up_p95_ms",
    "added_up_p99_ms",
    "in_flight_up_p50_bytes",
];

/// One row for each record; what a record does not name is null, but a flow is TCP.
pub(crate) fn rows(table: &Table, records: &[Record]) -> Rows {
    let mut rows = Rows::new(table);
    for (n, record) in records.iter().enumerate() {
        let order = Order {
            written_at: n as u64,
            subject: 0,
        };
        rows.row(order, |row| {
            for column in &table.columns {
                let value = record.iter().find(|(name, _)| *name == column.name);
                match (column.kind, value.map(|(_, v)| *v)) {
                    (ColumnType::U64, Some(Value::U(x))) => row.cell(x),
                    (ColumnType::U64, _) => row.cell(None::<u64>),
                    (ColumnType::I64, Some(Value::I(x))) => row.cell(x),
                    (ColumnType::I64, _) => row.cell(None::<i64>),
                    (ColumnType::F64, Some(Value::F(x))) => row.cell(x),
                    (ColumnType::F64, _) => row.cell(None::<f64>),
                    (ColumnType::Bool, Some(Value::B(x))) => row.cell(x),
                    (ColumnType::Bool, _) => row.cell(None::<bool>),
                    (ColumnType::Text, Some(Value::T(x))) => row.cell(x),
                    (ColumnType::Text, _) if column.name == "protocol" => row.cell("tcp"),
                    (ColumnType::Text, _) => row.cell(None::<&str>),
                }
            }
        });
    }
    rows
}
