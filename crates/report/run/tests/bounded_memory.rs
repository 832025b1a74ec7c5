//! Alone in its process, because it measures the process.

use std::fs;
use unbloat_run::{RunInfo, RunReader, RunWriter};
use unbloat_table::{Column, Order, Rows, Table};

const COLUMNS: usize = 20;

fn table() -> Table {
    let columns = (0..COLUMNS).map(|c| Column::of::<u64>(format!("c{c}").leak(), ""));
    Table {
        name: "numbers",
        doc: "",
        columns: columns.collect(),
    }
}

/// Numbers that do not compress, so that nothing hides in small pages.
fn rows(n: u64, state: &mut u64) -> Rows {
    let mut rows = Rows::new(&table());
    for _ in 0..n {
        rows.row(Order::default(), |row| {
            for _ in 0..COLUMNS {
                *state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                row.cell(*state ^ (*state >> 29));
            }
        });
    }
    rows
}

/// The most memory that this process ever had, in bytes (VmHWM of proc_pid_status(5)).
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line
        .and_then(|l| l.split_whitespace().next())
        .expect("a line of it");
    kib.parse::<u64>().expect("a number") * 1024
}

#[test]
fn a_million_rows_pass_in_bounded_memory() {
    let base = tempfile::tempdir().expect("a scratch folder");
    let dir = base.path().join("run");
    let info = RunInfo::new("unbloat", "0.1.0", Vec::new());
    let mut state = 1;
    let before = peak_memory();
    let mut writer = RunWriter::create(&dir, &info, &[table()]).expect("a run");
    for _ in 0..100 {
        let piece = rows(10_000, &mut state);
        writer.append(0, &piece).expect("room on the disk");
    }
    writer.finish(&info).expect("a whole run");
    let reader = RunReader::open(&dir).expect("a run");
    let read = reader.read("numbers").expect("a table");
    let count: usize = read.map(|b| b.expect("sound").len()).sum();
    assert_eq!(count, 1_000_000);
    // The table is 160 MB. A row group of 16 MiB is held while it is written, and while it is read.
    let grown = peak_memory() - before;
    assert!(grown < 80 << 20, "grew by {grown} bytes");
    let size = fs::metadata(dir.join("numbers.parquet"))
        .expect("a file")
        .len();
    assert!(size > 140_000_000, "these numbers compress to {size} bytes");
}
