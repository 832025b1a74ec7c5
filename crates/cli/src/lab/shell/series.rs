//! Time series of a shell's path, as a table.

use crate::output::OutputError;
use std::io::BufWriter;
use std::path::Path;
use unbloat_api::experiment::order;
use unbloat_lab::Closed;
use unbloat_os::files;
use unbloat_run::format::{Bounds, FormatKind, TextWriter};
use unbloat_table::{Column, Rows, Table};
use unbloat_units::{Delta, Time};

pub fn table() -> Table {
    Table {
        name: "path_series",
        doc: "one row per 10 ms and direction: what the path did (of a shell of the lab only)",
        columns: vec![
            Column::i64("time_ns", "beginning of the 10 ms, since the run began"),
            Column::i64(
                "monotonic_ns",
                "the same on CLOCK_MONOTONIC, which all processes of the machine share",
            ),
            Column::text("direction", "down or up"),
            Column::f64(
                "wait_ms",
                "how long the first packet that came waited in queues; null if none came that got through",
            ),
            Column::u64("bytes", "that left the path, from the IP header on"),
            Column::u64(
                "tcp_delivered_bytes",
                "payload of TCP that left the path, in any order, duplicates included",
            ),
            Column::u64(
                "tcp_bytes",
                "data of TCP that its receiver could then pass on: in order, and once",
            ),
            Column::u64("drops", "packets dropped"),
        ],
    }
}

pub fn rows(closed: &Closed) -> (Table, Rows) {
    let table = table();
    let mut rows = Rows::new(&table);
    let steps = closed.series.iter().flat_map(|series| series.steps());
    for ((at, direction, step), number) in steps.zip(0..) {
        let mut row = rows.row(order(number));
        row.i64(at.as_ns());
        row.i64((closed.zero + at.since(Time::from_ns(0))).as_ns());
        row.text(direction.name());
        row.f64(step.wait.map(Delta::as_ms));
        row.u64(step.bytes.as_u64());
        row.u64(step.tcp_delivered_bytes.as_u64());
        row.u64(step.tcp_bytes.as_u64());
        row.u64(u64::from(step.drops));
    }
    (table, rows)
}

/// Writes it as CSV.
pub fn write(file: &Path, closed: &Closed) -> Result<(), OutputError> {
    let (table, rows) = rows(closed);
    let out = BufWriter::new(files::create_named(file)?);
    let bounds = Bounds {
        width: usize::MAX,
        rows: usize::MAX,
    };
    let mut writer = TextWriter::new(out, FormatKind::Csv, bounds);
    writer.begin(&table)?;
    writer.append(rows.columns())?;
    writer.finish()?;
    Ok(())
}
