//! Run folders read back, and tables that are written as text.

use super::answers::split;
use super::heap::within;
use super::words::are_said;
use std::cell::RefCell;
use std::fs;
use std::panic::set_hook;
use std::path::Path;
use std::sync::Once;
use tempfile::TempDir;
use unbloat_run::format::{Bounds, FormatKind, TextWriter};
use unbloat_run::{RUN_FILE, RunError, RunInfo, RunReader, RunWriter};
use unbloat_table::{Column, ColumnData, Order, Rows, Table};

thread_local! {
    static FOLDER: RefCell<TempDir> = RefCell::new(folder());
}

/// In memory where the system has such a place: each input is two files.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    made.expect("a folder for runs")
}

static QUIET: Once = Once::new();

/// A run.json with one table, for inputs that are that table alone.
const RUN: &str = r#"{"program":"unbloat","version":"0.1.0","schema_version":1,"command":[],"seed":null,"kernel":null,"clock":"capture","status":"complete",
"inputs":[],"options":{},"trace_start":null,"packets":0,"skipped":{},"damage":[],"lost_packets":0,"evicted_flows":0,
"tables":[{"file":"t.parquet","rows":3,"name":"t","doc":"","columns":[]}]}"#;

/// What readers of a run may hold: pages and a row group's columns, in the memory of what is honest.
const MOST: usize = 64 << 20;

/// The bytes are a run folder: run.json and the table t.parquet, each behind its length, or the table alone behind a zero. It is read or refused in
/// one line, and no file outside is named.
pub fn run(bytes: &[u8]) {
    let (json, table) = match bytes {
        [0, table @ ..] => (RUN.as_bytes(), table),
        _ => split(bytes),
    };
    // The Parquet library panics at some damaged files, which the reader makes errors of. The fuzzer's hook would end it, and
    // the standard library's would count towards the memory.
    QUIET.call_once(|| set_hook(Box::new(|told| eprintln!("{told}"))));
    FOLDER.with_borrow(|folder| {
        let dir = folder.path();
        fs::write(dir.join(RUN_FILE), json).expect("room for a file");
        fs::write(dir.join("t.parquet"), table).expect("room for a file");
        let read = within(MOST + 64 * bytes.len(), || read(dir));
        if let Err(error) = read {
            let said = error.to_string();
            assert!(!said.is_empty() && said.len() < 1000 + 4 * bytes.len());
        }
    });
}

fn read(dir: &Path) -> Result<(), RunError> {
    let run = RunReader::open(dir)?;
    let written = serde_json::to_string(run.info()).expect("plain data");
    let again: RunInfo = serde_json::from_str(&written).expect("as it was written");
    assert_eq!(&again, run.info());
    for table in run.tables() {
        for batch in run.read(&table.schema.name)? {
            let batch = batch?;
            let end = batch.len();
            let is_over =
                |data: &ColumnData| data.as_f64(end).is_none() && data.as_text(end).is_none();
            assert!(batch.columns().iter().all(is_over));
        }
    }
    Ok(())
}

/// The bytes are rows of a table of all types. What is written is what was there, in every format that programs read.
pub fn tables(bytes: &[u8]) {
    let Some((&[kind, known], rest)) = bytes.split_first_chunk() else {
        return;
    };
    let (table, rows) = rows(known, rest);
    let text = |format| {
        let bounds = Bounds {
            width: 100,
            rows: 1000,
        };
        let mut writer = TextWriter::new(Vec::new(), format, bounds);
        let done = writer
            .begin(&table)
            .and_then(|()| writer.append(rows.columns(), rows.len()));
        let text = done.and_then(|()| writer.finish());
        String::from_utf8(text.expect("memory takes all")).expect("text is UTF-8")
    };
    match kind % 4 {
        0 => same_csv(&text(FormatKind::Csv), &rows),
        1 => text(FormatKind::Jsonl)
            .lines()
            .enumerate()
            .for_each(|(row, line)| {
                // JSON escapes what acts; whoever shows the text shows escapes.
                assert!(!line.contains(|c: char| c < ' '), "{line:?}");
                let read: serde_json::Value = serde_json::from_str(line).expect("an object a line");
                same_object(&read, &rows, row);
            }),
        2 => are_said(&text(FormatKind::Table)),
        _ => same_parquet(&table, &rows),
    }
}

fn rows(known: u8, mut bytes: &[u8]) -> (Table, Rows) {
    let table = Table {
        name: "t",
        doc: "one row per piece",
        columns: vec![
            Column::of::<u64>("count", ""),
            Column::of::<i64>("start_ns", ""),
            Column::of::<f64>("rtt_ms", ""),
            Column::of::<bool>("is_up", ""),
            Column::of::<&str>("name", ""),
        ],
    };
    let mut rows = Rows::new(&table);
    while let Some((&head, rest)) = bytes.split_first_chunk::<9>() {
        let number = u64::from_le_bytes(head[..8].try_into().expect("eight bytes"));
        let (name, after) = rest.split_at(usize::from(head[8]).min(rest.len()));
        bytes = after;
        let is_known = |column: u8| known.rotate_left(rows.len() as u32) >> column & 1 != 0;
        let is_there = [0, 1, 2, 3, 4].map(is_known);
        let name = String::from_utf8_lossy(name).into_owned();
        rows.row(Order::default(), |row| {
            row.cell(is_there[0].then_some(number));
            row.cell(is_there[1].then_some(number as i64));
            row.cell(is_there[2].then_some(f64::from_bits(number)));
            row.cell(is_there[3].then_some(number & 1 != 0));
            row.cell(is_there[4].then_some(&*name));
        });
    }
    (table, rows)
}

/// What a program that reads numbers as `f64` has of a cell; none where it is unknown or no number.
fn finite(data: &ColumnData, row: usize) -> Option<f64> {
    data.as_f64(row).filter(|value| value.is_finite())
}

fn same_csv(text: &str, rows: &Rows) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let read: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    assert_eq!(read.len(), rows.len());
    for (row, cells) in read.iter().enumerate() {
        for (cell, data) in cells.iter().zip(rows.columns()) {
            match data {
                ColumnData::Text(_) => assert_eq!(cell, data.as_text(row).unwrap_or_default()),
                ColumnData::Bool(values) => {
                    let shown = values.get(row).map(|is| is.to_string());
                    assert_eq!(cell, shown.unwrap_or_default());
                }
                ColumnData::U64(values) => {
                    assert_eq!(cell.parse().ok(), values.get(row));
                }
                ColumnData::I64(values) => {
                    assert_eq!(cell.parse().ok(), values.get(row));
                }
                ColumnData::F64(_) => assert_eq!(cell.parse().ok(), finite(data, row)),
            }
        }
    }
}

fn same_object(object: &serde_json::Value, rows: &Rows, row: usize) {
    let keys = ["count", "start_ns", "rtt_ms", "is_up", "name"];
    for (key, data) in keys.into_iter().zip(rows.columns()) {
        let value = &object[key];
        match data {
            ColumnData::Text(_) => assert_eq!(value.as_str(), data.as_text(row)),
            ColumnData::Bool(values) => assert_eq!(value.as_bool(), values.get(row)),
            ColumnData::U64(values) => assert_eq!(value.as_u64(), values.get(row)),
            ColumnData::I64(values) => assert_eq!(value.as_i64(), values.get(row)),
            // The reader's last digit is its own affair.
            ColumnData::F64(_) => match (value.as_f64(), finite(data, row)) {
                (Some(read), Some(written)) => {
                    // Of subnormal numbers, whose digits are fewer, too.
                    let last = (f64::EPSILON * written.abs()).max(f64::from_bits(1));
                    assert!((read - written).abs() <= 2.0 * last, "{read} for {written}");
                }
                (read, written) => assert_eq!(read, written),
            },
        }
    }
}

fn same_parquet(table: &Table, rows: &Rows) {
    FOLDER.with_borrow(|folder| {
        let dir = folder.path().join("written");
        let _ = fs::remove_dir_all(&dir);
        let info = RunInfo::new("unbloat", "0.1.0", Vec::new());
        let mut writer =
            RunWriter::create(&dir, &info, std::slice::from_ref(table)).expect("a run");
        writer.append(0, rows).expect("room for rows");
        writer.finish(&info).expect("room for a run");
        let run = RunReader::open(&dir).expect("a run of ours");
        let batches: Vec<_> = run.read("t").expect("its table").collect();
        let mut row = 0;
        for batch in batches {
            let batch = batch.expect("rows of ours");
            for at in 0..batch.len() {
                same_row(batch.columns(), at, rows.columns(), row);
                row += 1;
            }
        }
        assert_eq!(row, rows.len());
    });
}

fn same_row(read: &[ColumnData], at: usize, written: &[ColumnData], row: usize) {
    for pair in read.iter().zip(written) {
        match pair {
            (ColumnData::U64(back), ColumnData::U64(there)) => {
                assert_eq!(back.get(at), there.get(row))
            }
            (ColumnData::I64(back), ColumnData::I64(there)) => {
                assert_eq!(back.get(at), there.get(row))
            }
            (ColumnData::Bool(back), ColumnData::Bool(there)) => {
                assert_eq!(back.get(at), there.get(row))
            }
            (ColumnData::F64(back), ColumnData::F64(there)) => {
                let bits = |value: Option<f64>| value.map(f64::to_bits);
                assert_eq!(bits(back.get(at)), bits(there.get(row)));
            }
            (back, there) => {
                assert_eq!(back.as_text(at), there.as_text(row));
            }
        }
    }
}
