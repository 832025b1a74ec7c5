//! Time series of a shell's path, as a table.

use crate::exit::Failure;
use std::io::BufWriter;
use std::path::Path;
use unbloat_lab::Closed;
use unbloat_os::files;
use unbloat_run::format::{Bounds, FormatKind, TextWriter};
use unbloat_table::{Row, Rows, Table, columns};
use unbloat_units::{Delta, Direction, Time};

columns! {
    pub struct PathRow: path_series = "one row per 10 ms and direction: what the path did (of a shell of the lab only)" {
        time_ns: i64 = "beginning of the 10 ms, since the run began",
        monotonic_ns: i64 = "the same on CLOCK_MONOTONIC, which all processes of the machine share",
        direction: Direction = "down or up",
        wait_ms: Option<f64> = "how long the first packet that came waited in queues; null if none came that got through",
        bytes: u64 = "that left the path, from the IP header on",
        tcp_delivered_bytes: u64 = "payload of TCP that left the path, in any order, duplicates included",
        tcp_bytes: u64 = "data of TCP that its receiver could then pass on: in order, and once",
        drops: u32 = "packets dropped",
    }
}

pub fn rows(closed: &Closed) -> (Table, Rows) {
    let steps = closed.series.iter().flat_map(|series| series.steps());
    PathRow::filled(steps.map(|(at, direction, step)| PathRow {
        time_ns: at.as_ns(),
        monotonic_ns: (closed.zero + at.since(Time::from_ns(0))).as_ns(),
        direction,
        wait_ms: step.wait.map(Delta::as_ms),
        bytes: step.bytes.as_u64(),
        tcp_delivered_bytes: step.tcp_delivered_bytes.as_u64(),
        tcp_bytes: step.tcp_bytes.as_u64(),
        drops: step.drops,
    }))
}

/// Writes it as CSV.
pub fn write(file: &Path, closed: &Closed) -> Result<(), Failure> {
    let (table, rows) = rows(closed);
    let out = BufWriter::new(files::create_named(file)?);
    let bounds = Bounds {
        width: usize::MAX,
        rows: usize::MAX,
    };
    let mut writer = TextWriter::new(out, FormatKind::Csv, bounds);
    writer.begin(&table)?;
    writer.append(rows.columns(), rows.len())?;
    writer.finish()?;
    Ok(())
}
