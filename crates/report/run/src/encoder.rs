//! Parquet files written by a thread of their own, so that compression does not hold up analysis.
//!
//! Whole numbers (times, ids, positions) lie close to those before them, so they are kept as
//! differences, each in as few bits as its neighbours need. That is as small as zstd makes them, and
//! zstd after it gains 2 % and costs as much again, so it is for texts and fractions: level 1
//! halves them at a third of the speed of no compression. Dictionaries pay only for text, which
//! repeats; on numbers they cost a third of the speed and gain nothing.
//!
//! The least and the largest value of a row group let readers skip it where rows come in the order of a column, as they do in
//! that of times and ids. By texts and fractions nothing could be skipped.

use crate::columns::arrow_schema;
use crate::{RunError, RunInfo, StoredTable, TableSchema};
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use unbloat_table::ColumnType;

/// A row group ends at whichever comes first. Both bound what writer and reader hold in memory.
const GROUP_ROWS: usize = 1 << 18;
const GROUP_BYTES: usize = 16 << 20;

/// Batches that may wait for the thread before the giver has to.
const WAITING_BATCHES: usize = 2;

/// The files of a run. Their thread starts with the first rows: a process gives up rights after it has made its folder, and a thread that
/// it started before would keep them.
pub(crate) enum Encoder {
    Idle(Vec<TableFile>),
    Busy {
        batches: SyncSender<(usize, RecordBatch)>,
        thread: JoinHandle<Result<Vec<u64>, RunError>>,
    },
}

impl Encoder {
    /// Makes one file per table in `dir`.
    pub(crate) fn create(
        dir: &Path,
        info: &RunInfo,
        tables: &[StoredTable],
    ) -> Result<Encoder, RunError> {
        let files = tables
            .iter()
            .map(|table| TableFile::create(dir.join(&table.file), info, &table.schema));
        Ok(Encoder::Idle(files.collect::<Result<_, _>>()?))
    }

    /// Hands over rows of table `table`; false once the thread has failed, [`Encoder::finish`]
    /// then tells why.
    pub(crate) fn write(&mut self, table: usize, batch: RecordBatch) -> Result<bool, RunError> {
        loop {
            match self {
                Encoder::Busy { batches, .. } => return Ok(batches.send((table, batch)).is_ok()),
                Encoder::Idle(files) => *self = Encoder::start(std::mem::take(files))?,
            }
        }
    }

    fn start(files: Vec<TableFile>) -> Result<Encoder, RunError> {
        let first = files.first().map(|file| file.path.clone());
        let (batches, received) = sync_channel(WAITING_BATCHES);
        let thread = std::thread::Builder::new()
            .name("parquet".to_owned())
            .spawn(move || write_all(files, &received))
            .map_err(RunError::io(&first.unwrap_or_default()))?;
        Ok(Encoder::Busy { batches, thread })
    }

    /// Waits for all that was handed over, closes the files and gives the rows of each.
    pub(crate) fn finish(self) -> Result<Vec<u64>, RunError> {
        match self {
            Encoder::Idle(files) => close_all(files),
            Encoder::Busy { batches, thread } => {
                drop(batches);
                match thread.join() {
                    Ok(rows) => rows,
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        }
    }
}

fn write_all(
    mut files: Vec<TableFile>,
    batches: &Receiver<(usize, RecordBatch)>,
) -> Result<Vec<u64>, RunError> {
    for (table, batch) in batches {
        files[table].write(&batch)?;
    }
    close_all(files)
}

fn close_all(files: Vec<TableFile>) -> Result<Vec<u64>, RunError> {
    files.into_iter().map(TableFile::close).collect()
}

/// One Parquet file.
pub(crate) struct TableFile {
    path: PathBuf,
    writer: ArrowWriter<File>,
    rows: u64,
}

impl TableFile {
    fn create(path: PathBuf, info: &RunInfo, table: &TableSchema) -> Result<TableFile, RunError> {
        let file = File::create_new(&path).map_err(RunError::io(&path))?;
        let writer = ArrowWriter::try_new(file, arrow_schema(table), Some(properties(info, table)))
            .map_err(RunError::parquet(&path))?;
        Ok(TableFile {
            path,
            writer,
            rows: 0,
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), RunError> {
        self.rows += batch.num_rows() as u64;
        self.writer
            .write(batch)
            .map_err(RunError::parquet(&self.path))
    }

    fn close(self) -> Result<u64, RunError> {
        self.writer.close().map_err(RunError::parquet(&self.path))?;
        Ok(self.rows)
    }
}

fn properties(info: &RunInfo, table: &TableSchema) -> WriterProperties {
    let level = ZstdLevel::try_new(1).expect("level 1 exists");
    let metadata = [
        ("unbloat.schema_version", info.schema_version.to_string()),
        ("unbloat.table", table.name.clone()),
        ("unbloat.doc", table.doc.clone()),
    ];
    let metadata = metadata.map(|(key, value)| KeyValue::new(key.to_owned(), value));
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("{} {}", info.program, info.version))
        .set_key_value_metadata(Some(metadata.to_vec()))
        .set_compression(Compression::ZSTD(level))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_max_row_group_bytes(Some(GROUP_BYTES));
    for column in &table.columns {
        let path = ColumnPath::new(vec![column.name.clone()]);
        properties = match column.kind {
            ColumnType::Text => properties.set_column_dictionary_enabled(path, true),
            ColumnType::U64 | ColumnType::I64 => properties
                .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
                .set_column_statistics_enabled(path.clone(), EnabledStatistics::Chunk)
                .set_column_compression(path, Compression::UNCOMPRESSED),
            ColumnType::F64 | ColumnType::Bool => properties,
        };
    }
    properties.build()
}
