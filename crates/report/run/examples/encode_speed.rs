//! Rows per second into Parquet, for a table as wide as `flows`:
//! `cargo run --release -p unbloat-run --example encode_speed [rows]`.
//!
//! Columns repeat in the pattern of that table: identifiers, counts, delays with nulls, flags, texts.

use std::error::Error;
use std::path::Path;
use std::time::Instant;
use unbloat_run::{RunInfo, RunReader, RunWriter};
use unbloat_table::{Column, Order, Rows, Table};

const PIECE: u64 = 4096;

fn table(width: usize) -> Table {
    let columns = (0..width).map(|c| match c % 12 {
        0..=3 => Column::u64(name(c), ""),
        4 => Column::i64(name(c), ""),
        5..=9 => Column::f64(name(c), ""),
        10 => Column::bool(name(c), ""),
        _ => Column::text(name(c), ""),
    });
    Table {
        name: "flows",
        doc: "",
        columns: columns.collect(),
    }
}

fn name(column: usize) -> &'static str {
    format!("c{column}").leak()
}

/// Small counts, times that grow, delays of which a third is unknown.
fn fill(rows: &mut Rows, width: usize, from: u64) {
    const HOSTS: [&str; 4] = ["a.example", "video.example", "10.1.2.3", "tcp"];
    for i in from..from + PIECE {
        let mut row = rows.row(Order::default());
        for c in 0..width {
            let mixed = (i * 31 + c as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            match c % 12 {
                0 => row.u64(i),
                1..=3 => row
                    .u64((c % 2 == 1 || !mixed.is_multiple_of(3)).then_some((mixed >> 32) % 5000)),
                4 => row.i64((i * 1_000_000 + mixed % 999_999) as i64),
                5..=9 => {
                    row.f64((!mixed.is_multiple_of(3)).then_some((mixed >> 40) as f64 / 1000.0))
                }
                10 => row.bool(mixed.is_multiple_of(7)),
                _ => row.text(HOSTS[(mixed >> 60) as usize % 4]),
            }
        }
    }
}

/// Processor time of this process so far, all threads, in seconds: fields 14 and 15 of
/// proc_pid_stat(5), in ticks of 10 ms.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let after_name = stat.rsplit(')').next().expect("a name in parentheses");
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |field: &str| field.parse::<f64>().expect("a number");
    (ticks(fields[11]) + ticks(fields[12])) / 100.0
}

/// Processor seconds that `work` takes.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let before = cpu_s();
    let made = work();
    (made, cpu_s() - before)
}

fn make(
    table: &Table,
    pieces: u64,
    mut each: impl FnMut(&Rows) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut rows = Rows::new(table);
    for piece in 0..pieces {
        rows.clear();
        fill(&mut rows, table.columns.len(), piece * PIECE);
        each(&rows)?;
    }
    Ok(())
}

fn write(dir: &Path, table: &Table, pieces: u64) -> Result<(), Box<dyn Error>> {
    let info = RunInfo::new("encode_speed", "0", Vec::new());
    let mut writer = RunWriter::create(dir, &info, std::slice::from_ref(table))?;
    make(table, pieces, |rows| Ok(writer.append(0, rows)?))?;
    writer.finish(&info)?;
    Ok(())
}

fn read(dir: &Path) -> Result<(), Box<dyn Error>> {
    for batch in RunReader::open(dir)?.read("flows")? {
        std::hint::black_box(batch?);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let count: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(1_000_000), |n| n.parse())?;
    let pieces = count.div_ceil(PIECE);
    let million_rows = (pieces * PIECE) as f64 / 1e6;
    println!("columns  write Mrows/CPU-s  fill+write Mrows/s  read Mrows/CPU-s  B/row");
    for width in [48, 100] {
        let table = table(width);
        let base = tempfile::tempdir()?;
        let dir = base.path().join("run");
        let (filled, fill_s) = timed(|| make(&table, pieces, |_| Ok(())));
        let start = Instant::now();
        let (written, write_s) = timed(|| write(&dir, &table, pieces));
        let wall_s = start.elapsed().as_secs_f64();
        let (back, read_s) = timed(|| read(&dir));
        filled.and(written).and(back)?;
        let size = std::fs::metadata(dir.join("flows.parquet"))?.len() as f64;
        println!(
            "{width:7}  {:17.2}  {:18.2}  {:16.2}  {:5.0}",
            million_rows / (write_s - fill_s),
            million_rows / wall_s,
            million_rows / read_s,
            size / million_rows / 1e6,
        );
    }
    Ok(())
}
