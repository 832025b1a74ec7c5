//! Runs as programs meet them: written in pieces, interrupted, read back, refused.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use tempfile::{TempDir, tempdir};
use unbloat_run::{
    Batch, RUN_FILE, RunError, RunInfo, RunReader, RunWriter, Status, fresh_dir, link_latest,
};
use unbloat_table::{Column, ColumnData, Order, Rows, SCHEMA_VERSION, Table};

const HOSTILE: &[&str] = &[
    "",
    "ü 日本 \u{202e}",
    "a\0b\r\n\"",
    "\u{1b}[31m",
    "../../etc/passwd",
];

fn flows() -> Table {
    Table {
        name: "flows",
        doc: "one row per flow",
        columns: vec![
            Column::of::<u64>("flow_id", "number of its first packet"),
            Column::of::<i64>("start_ns", "first packet"),
            Column::of::<f64>("rtt_ms", "round trip"),
            Column::of::<bool>("pep", "proxied"),
            Column::of::<&str>("server_name", "as the client asked for it"),
            Column::of::<f64>("period_s", "never known here"),
        ],
    }
}

fn empty() -> Table {
    Table {
        name: "dns",
        doc: "one row per query",
        columns: vec![Column::of::<&str>("name", "what was asked")],
    }
}

fn rows(from: u64, to: u64) -> Rows {
    let mut rows = Rows::new(&flows());
    for i in from..to {
        rows.row(Order::default(), |row| {
            row.cell(u64::MAX - i);
            row.cell((i % 3 != 0).then_some(i64::MIN + i as i64));
            row.cell((i % 2 == 0).then_some(i as f64 / 7.0));
            row.cell((i % 5 != 0).then_some(i % 2 == 0));
            row.cell((i % 4 != 0).then(|| HOSTILE[i as usize % HOSTILE.len()]));
            row.cell(None::<f64>);
        });
    }
    rows
}

fn info() -> RunInfo {
    RunInfo::new("unbloat", "0.1.0", vec!["unbloat".into(), "analyze".into()])
}

fn scratch() -> TempDir {
    tempdir().expect("a scratch folder")
}

/// Writes rows `0..n` of `flows`, `piece` at a time, and no row of `dns`.
fn write(dir: &Path, n: u64, piece: usize, info: &RunInfo) -> PathBuf {
    let mut writer = RunWriter::create(dir, info, &[flows(), empty()]).expect("a run");
    for from in (0..n).step_by(piece) {
        let part = rows(from, n.min(from + piece as u64));
        writer.append(0, &part).expect("room on the disk");
    }
    writer.finish(info).expect("a whole run")
}

fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("readable");
    let names = entries.map(|e| e.expect("readable").file_name());
    let mut names: Vec<String> = names.map(|n| n.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn read_all(reader: &RunReader, table: &str) -> Vec<Batch> {
    let batches = reader.read(table).expect("a table");
    batches.map(|b| b.expect("sound")).collect()
}

#[test]
fn what_was_written_is_read_whatever_the_pieces() {
    let base = scratch();
    for piece in [1, 1000, 8192, 20_000] {
        let dir = base.path().join(format!("run-{piece}"));
        write(&dir, 20_000, piece, &info());
        let reader = RunReader::open(&dir).expect("a run");
        assert_eq!(reader.info(), &info());
        assert_eq!(reader.table("flows").expect("there").rows, 20_000);
        let mut from = 0;
        for batch in read_all(&reader, "flows") {
            let to = from + batch.len() as u64;
            assert_eq!(
                batch.columns(),
                rows(from, to).columns(),
                "rows {from} to {to}"
            );
            from = to;
        }
        assert_eq!(from, 20_000);
    }
}

#[test]
fn equal_rows_are_equal_files_whatever_the_pieces() {
    // So wide that a batch ends by its bytes, at rows that depend on the lengths of texts.
    let columns = (0..120).map(|_| Column::of::<u64>("number", ""));
    let table = Table {
        name: "wide",
        doc: "",
        columns: columns.chain([Column::of::<&str>("name", "")]).collect(),
    };
    let base = scratch();
    let files = [1, 511, 512, 8192, 20_000].map(|piece| {
        let dir = base.path().join(format!("run-{piece}"));
        let mut writer =
            RunWriter::create(&dir, &info(), std::slice::from_ref(&table)).expect("a run");
        for from in (0..20_000).step_by(piece) {
            let mut rows = Rows::new(&table);
            for i in from..20_000.min(from + piece) {
                rows.row(Order::default(), |row| {
                    (0..120).for_each(|column| row.cell((i * column) as u64));
                    row.cell(Some(&*"x".repeat(i * 7 % 900)));
                });
            }
            writer.append(0, &rows).expect("room on the disk");
        }
        let run = writer.finish(&info()).expect("a whole run");
        fs::read(run.join("wide.parquet")).expect("readable")
    });
    assert!(files.iter().all(|file| *file == files[0]));
}

#[test]
fn the_parquet_crates_own_row_reader_agrees() {
    let base = scratch();
    let dir = write(&base.path().join("run"), 100, 30, &info());
    let file = File::open(dir.join("flows.parquet")).expect("a table");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let metadata = reader.metadata().file_metadata();
    let version = metadata.key_value_metadata().expect("metadata");
    let version = version.iter().find(|kv| kv.key == "unbloat.schema_version");
    let version = version.and_then(|kv| kv.value.clone());
    assert_eq!(version, Some(SCHEMA_VERSION.to_string()));
    assert_eq!(metadata.created_by(), Some("unbloat 0.1.0"));
    let written = rows(0, 100);
    let mut read = 0;
    for (i, row) in reader.get_row_iter(None).expect("rows").enumerate() {
        let row = row.expect("sound");
        let fields: Vec<&Field> = row.get_column_iter().map(|(_, field)| field).collect();
        let ColumnData::U64(ids) = &written.columns()[0] else {
            panic!("ids are u64")
        };
        assert_eq!(*fields[0], Field::ULong(ids.get(i).expect("known")));
        let name = written.columns()[4].as_text(i);
        let expected = name.map_or(Field::Null, |text| Field::Str(text.to_owned()));
        assert_eq!(*fields[4], expected);
        assert_eq!(*fields[5], Field::Null);
        read += 1;
    }
    assert_eq!(read, 100);
}

#[test]
fn rows_by_key_are_those_of_all_that_have_it() {
    let base = tempdir().unwrap();
    let dir = base.path().join("run");
    let mut writer = RunWriter::create(&dir, &info(), &[flows()]).unwrap();
    writer.append(0, &rows(0, 20_000)).unwrap();
    writer.finish(&info()).unwrap();
    let reader = RunReader::open(&dir).unwrap();
    let keys: BTreeSet<u64> = (0..20_000).step_by(777).map(|i| u64::MAX - i).collect();
    let columns = ["flow_id", "rtt_ms", "server_name"];
    let values = |batches: unbloat_run::Batches, wanted: &BTreeSet<u64>| {
        let mut found = Vec::new();
        for batch in batches {
            let batch = batch.unwrap();
            let [ids, rtt, names] = batch.columns() else {
                panic!("three columns");
            };
            let ColumnData::U64(ids) = ids else {
                panic!("ids are whole numbers");
            };
            for row in 0..batch.len() {
                let id = ids.get(row).unwrap();
                let name = names.as_text(row).map(str::to_owned);
                found.extend(wanted.contains(&id).then(|| (id, rtt.as_f64(row), name)));
            }
        }
        found
    };
    let chosen = reader
        .read_rows("flows", &columns, "flow_id", &keys)
        .unwrap();
    let chosen = values(chosen, &keys);
    let all = reader.read_columns("flows", &columns).unwrap();
    assert_eq!(chosen, values(all, &keys));
    assert_eq!(chosen.len(), keys.len());
    let none = reader.read_rows("flows", &columns, "flow_id", &BTreeSet::new());
    assert_eq!(none.unwrap().count(), 0);
    assert!(matches!(
        reader.read_rows("flows", &columns, "flow", &keys).err(),
        Some(RunError::NoColumn { .. })
    ));
}

#[test]
fn what_is_kept_in_memory_is_what_the_files_hold() {
    let base = scratch();
    let dir = base.path().join("run");
    let mut writer = RunWriter::create(&dir, &info(), &[flows(), empty()]).expect("a run");
    writer.keep();
    for from in (0..20_000).step_by(5_000) {
        let part = rows(from, from + 5_000);
        writer.append(0, &part).expect("room on the disk");
    }
    let kept = writer.finish_read(&info()).expect("a whole run");
    let keys = (0..20_000).step_by(7).map(|i| u64::MAX - i).collect();
    let columns = ["flow_id", "rtt_ms", "server_name"];
    let read = |reader: &RunReader| -> Vec<String> {
        let all = reader.read("flows").expect("a table");
        let few = reader.read_columns("flows", &columns).expect("a table");
        let some = reader.read_rows("flows", &columns, "flow_id", &keys);
        let batches = all.chain(few).chain(some.expect("a table"));
        let of_batch = |batch: Batch| {
            let row = |row| {
                format!(
                    "{:?}",
                    batch
                        .columns()
                        .iter()
                        .map(|c| (c.as_f64(row), c.as_text(row)))
                        .collect::<Vec<_>>()
                )
            };
            (0..batch.len()).map(row).collect::<Vec<_>>()
        };
        batches
            .flat_map(|batch| of_batch(batch.expect("sound")))
            .collect()
    };
    let of_files = read(&RunReader::open(&dir).expect("a run"));
    fs::remove_file(dir.join("flows.parquet")).expect("there");
    assert_eq!(of_files.len(), 40_000 + keys.len());
    assert!(read(&kept) == of_files);
}

#[test]
fn a_table_that_is_long_is_not_kept() {
    let base = scratch();
    let dir = base.path().join("run");
    let mut writer = RunWriter::create(&dir, &info(), &[empty()]).expect("a run");
    writer.keep();
    let (text, mut long) = ("x".repeat(60_000), Rows::new(&empty()));
    (0..100).for_each(|i| long.row(Order::nth(i), |row| row.cell(&text[i..])));
    (0..8).for_each(|_| writer.append(0, &long).expect("room on the disk"));
    let reader = writer.finish_read(&info()).expect("a whole run");
    let rows: usize = read_all(&reader, "dns").iter().map(Batch::len).sum();
    assert_eq!(rows, 800);
    fs::remove_file(dir.join("dns.parquet")).expect("there");
    assert!(reader.read("dns").is_err());
}

#[test]
fn only_the_columns_asked_for_are_read() {
    let base = scratch();
    let dir = write(&base.path().join("run"), 10, 10, &info());
    let reader = RunReader::open(&dir).expect("a run");
    let chosen = reader.read_columns("flows", &["rtt_ms", "flow_id"]);
    let batch = chosen
        .expect("both exist")
        .next()
        .expect("rows")
        .expect("sound");
    assert_eq!(batch.names(), ["flow_id", "rtt_ms"]);
    assert_eq!(batch.column("rtt_ms"), Some(&rows(0, 10).columns()[2]));
    assert_eq!(batch.column("pep"), None);
    let missing = reader.read_columns("flows", &["rtt_s"]).err();
    assert!(matches!(missing, Some(RunError::NoColumn { column, .. }) if column == "rtt_s"));
    let unknown = reader.read("flow").err().expect("no such table");
    assert_eq!(
        unknown.to_string(),
        "the run has no table flow; its tables are flows, dns"
    );
}

#[test]
fn a_table_without_rows_keeps_its_schema() {
    let base = scratch();
    let dir = write(&base.path().join("run"), 0, 1, &info());
    let reader = RunReader::open(&dir).expect("a run");
    for table in reader.tables() {
        assert_eq!(table.rows, 0);
        assert!(read_all(&reader, &table.schema.name).is_empty());
        let file = File::open(dir.join(&table.file)).expect("a table");
        let parquet = SerializedFileReader::new(file).expect("Parquet");
        let schema = parquet
            .metadata()
            .file_metadata()
            .schema_descr()
            .num_columns();
        assert_eq!(schema, table.schema.columns.len());
    }
}

#[test]
fn an_interrupted_run_is_as_readable_as_a_whole_one() {
    let base = scratch();
    let mut writer =
        RunWriter::create(&base.path().join("run"), &info(), &[flows()]).expect("a run");
    writer.append(0, &rows(0, 9000)).expect("room on the disk");
    let mut ended = info();
    ended.status = Status::Interrupted;
    ended.damage.push("a.pcap: cut in packet 9001".to_owned());
    let dir = writer.finish(&ended).expect("a whole run");
    let reader = RunReader::open(&dir).expect("a run");
    assert_eq!(reader.info(), &ended);
    let lengths: Vec<usize> = read_all(&reader, "flows").iter().map(Batch::len).collect();
    assert_eq!(lengths.iter().sum::<usize>(), 9000);
}

#[test]
fn a_run_dropped_half_way_leaves_nothing() {
    let base = scratch();
    let dir = base.path().join("run");
    let mut writer = RunWriter::create(&dir, &info(), &[flows()]).expect("a run");
    writer
        .append(0, &rows(0, 20_000))
        .expect("room on the disk");
    assert!(!dir.exists(), "half a run is not to be seen");
    drop(writer);
    assert_eq!(names_in(base.path()), Vec::<String>::new());
}

#[test]
fn a_run_is_never_overwritten() {
    let base = scratch();
    let dir = write(&base.path().join("run"), 5, 5, &info());
    let refused = RunWriter::create(&dir, &info(), &[flows()]).err();
    assert!(matches!(refused, Some(RunError::Taken(path)) if path == dir));
    let link = base.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).expect("a link");
    let at_link = RunWriter::create(&link, &info(), &[flows()]).err();
    assert!(matches!(at_link, Some(RunError::Taken(path)) if path == link));
    let late = base.path().join("late");
    let writer = RunWriter::create(&late, &info(), &[flows()]).expect("a run");
    write(&late, 7, 7, &info());
    let Some(RunError::TakenMeanwhile { kept, .. }) = writer.finish(&info()).err() else {
        panic!("someone else was faster")
    };
    assert_eq!(RunReader::open(&late).expect("theirs").tables()[0].rows, 7);
    assert_eq!(RunReader::open(&kept).expect("ours").tables()[0].rows, 0);
}

#[test]
fn a_run_takes_the_place_of_its_fresh_folder() {
    let base = scratch();
    for expected in ["day", "day-2"] {
        let dir = fresh_dir(base.path(), "day").expect("a name");
        assert!(matches!(RunReader::open(&dir), Err(RunError::NotARun(_))));
        let made = write(&dir, 3, 3, &info());
        link_latest(&made).expect("a link");
        assert_eq!(made, base.path().join(expected));
        RunReader::open(&base.path().join("latest")).expect("the last run");
    }
    assert_eq!(names_in(base.path()), ["day", "day-2", "latest"]);
    let files = ["dns.parquet", "flows.parquet", RUN_FILE];
    assert_eq!(names_in(&base.path().join("day")), files);
}

#[test]
fn tables_of_a_newer_program_are_refused_with_the_reason() {
    let base = scratch();
    let path = base.path().join(RUN_FILE);
    fs::write(
        &path,
        "{\"schema_version\": 4000, \"all\": \"else may differ\"}",
    )
    .expect("room");
    let refused = RunReader::open(base.path()).err().expect("too new");
    let known = format!("supports up to {SCHEMA_VERSION}");
    assert!(refused.to_string().contains("version 4000"), "{refused}");
    assert!(refused.to_string().contains(&known), "{refused}");
}

#[test]
fn run_json_cannot_lead_out_of_its_folder() {
    let base = scratch();
    let dir = write(&base.path().join("run"), 5, 5, &info());
    let path = dir.join(RUN_FILE);
    let text = fs::read_to_string(&path).expect("run.json");
    for outside in ["../run/flows.parquet", "/etc/passwd", ".."] {
        fs::write(&path, text.replace("flows.parquet", outside)).expect("room");
        let reader = RunReader::open(&dir).expect("a run");
        assert!(matches!(reader.read("flows"), Err(RunError::BadName(_))));
    }
}

#[test]
fn damaged_files_are_errors_that_name_them() {
    let base = scratch();
    let dir = write(&base.path().join("run"), 5000, 5000, &info());
    let path = dir.join("flows.parquet");
    let bytes = fs::read(&path).expect("a table");
    fs::write(&path, &bytes[..bytes.len() / 2]).expect("room");
    let error = RunReader::open(&dir).expect("a run").read("flows").err();
    assert!(
        error
            .expect("no footer")
            .to_string()
            .contains("flows.parquet")
    );
    fs::write(dir.join(RUN_FILE), "{").expect("room");
    assert!(matches!(RunReader::open(&dir), Err(RunError::Json { .. })));
}

#[test]
fn texts_that_a_dictionary_repeats_do_not_fill_the_memory() {
    let base = tempdir().expect("a scratch folder");
    let table = Table {
        name: "names",
        doc: "",
        columns: vec![Column::of::<&str>("name", "")],
    };
    let stored = |name: &str, length: usize, rows: usize| {
        let dir = base.path().join(name);
        let info = RunInfo::new("unbloat", "0", Vec::new());
        let mut writer = RunWriter::create(&dir, &info, std::slice::from_ref(&table)).unwrap();
        let text = "x".repeat(length);
        let mut one = Rows::new(&table);
        one.row(Order::default(), |row| row.cell(&text[..]));
        for _ in 0..rows {
            writer.append(0, &one).unwrap();
        }
        writer.finish(&info).unwrap();
        let file = dir.join("names.parquet");
        assert!(file.metadata().unwrap().len() < 1 << 20, "it is small");
        RunReader::open(&dir).unwrap()
    };
    let refused = stored("long", 1 << 20, 64).read("names").err().unwrap();
    assert!(refused.to_string().contains("longer than"), "{refused}");
    // Each of a length that is allowed: a piece has a bound, and so have all of them.
    let many = stored("many", 60_000, 6_000);
    let mut read = 0;
    let ended = many.read("names").unwrap().find_map(|batch| match batch {
        Ok(batch) => {
            read += batch.len();
            assert!(batch.len() * 60_000 <= 64 << 20, "{} rows", batch.len());
            None
        }
        Err(error) => Some(error.to_string()),
    });
    let ended = ended.expect("the rest is refused");
    assert!(
        ended.contains("too many") && read > 1_000,
        "{read}: {ended}"
    );
}

/// Billions of rows in a few kB are refused before the first is read.
#[test]
fn rows_that_a_page_repeats_do_not_keep_the_reader_busy() {
    let temp = scratch();
    let dir = temp.path().join("run");
    let table = Table {
        name: "flows",
        doc: "",
        columns: vec![Column::of::<bool>("pep", "")],
    };
    let mut writer = RunWriter::create(&dir, &info(), std::slice::from_ref(&table)).unwrap();
    let mut unknown = Rows::new(&table);
    (0..1_000_000).for_each(|_| unknown.row(Order::default(), |row| row.cell(None::<bool>)));
    writer.append(0, &unknown).unwrap();
    writer.finish(&info()).unwrap();
    let read = || RunReader::open(&dir).unwrap().read("flows").map(drop);
    assert!(read().is_ok(), "as many as we write are read");
    // In the header of a page: a field of 32 bits, 24,576 values as a varint of zigzags, and the most that has its length.
    let (ours, theirs) = ([0x15, 0x80, 0x80, 3], [0x15, 0xfe, 0xff, 0x7f]);
    let path = dir.join("flows.parquet");
    let mut bytes = fs::read(&path).unwrap();
    let places: Vec<usize> = (0..bytes.len() - 4)
        .filter(|at| bytes[*at..*at + 4] == ours)
        .collect();
    assert!(places.len() > 32, "{} pages", places.len());
    for at in places {
        bytes[at..at + 4].copy_from_slice(&theirs);
    }
    fs::write(&path, bytes).unwrap();
    let why = read().unwrap_err().to_string();
    assert!(why.contains("too many for so small a file"), "{why}");
}

/// A file of 20 kB whose column is a column in a column, and so on: whoever descends has no stack left.
#[test]
fn columns_within_columns_are_refused_however_deep() {
    const DEEP: u32 = 2_000;
    let temp = scratch();
    let dir = write(temp.path(), 10, 10, &info());
    // Thrift's compact protocol: version 1, then a list of more than 14 structs.
    let mut footer = vec![0x15, 2, 0x19, 0xfc];
    footer.extend([(DEEP & 0x7f) as u8 | 0x80, (DEEP >> 7) as u8]);
    for level in 0..DEEP {
        match level + 1 == DEEP {
            // Required, its name, one child.
            false => footer.extend([0x35, 0, 0x18, 1, b'a', 0x15, 2, 0]),
            // A number of 32 bits, required, its name.
            true => footer.extend([0x15, 2, 0x25, 0, 0x18, 1, b'a', 0]),
        }
    }
    // No rows, no row groups.
    footer.extend([0x16, 0, 0x19, 0x0c, 0]);
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    let file = [b"PAR1", &footer[..], &length, b"PAR1"].concat();
    std::fs::write(dir.join("flows.parquet"), file).unwrap();
    let refused = RunReader::open(&dir).unwrap().read("flows").map(drop);
    let why = refused.unwrap_err().to_string();
    assert!(why.contains("the footer is invalid"), "{why}");
}

#[test]
fn only_plain_files_are_read() {
    let base = scratch();
    let dir = base.path().join("run");
    write(&dir, 10, 10, &info());
    for name in [RUN_FILE, "flows.parquet"] {
        let file = dir.join(name);
        let kept = base.path().join("kept");
        fs::rename(&file, &kept).unwrap();
        std::os::unix::fs::symlink(&kept, &file).unwrap();
        let read = RunReader::open(&dir).and_then(|run| run.read("flows").map(drop));
        let error = read.expect_err("a link is refused").to_string();
        assert!(error.contains("link"), "{error}");
        fs::rename(&kept, &file).unwrap();
    }
}
