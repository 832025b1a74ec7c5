//! Reading a run back, in pieces: a table of any length takes the memory of one row group's
//! chosen columns.

use crate::folder::RUN_FILE;
use crate::info::{RunFile, RunVersion};
use crate::{Batch, RunError, RunInfo, StoredTable, pages};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{BooleanArray, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowFilter,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use unbloat_table::SCHEMA_VERSION;

/// Rows that are read at a time.
const BATCH_ROWS: usize = 8192;

/// Of run.json: what is longer was not written by this program.
const LONGEST: u64 = 64 << 20;

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    fs::File::open(path)?
        .take(LONGEST + 1)
        .read_to_end(&mut text)?;
    match text.len() as u64 > LONGEST {
        true => Err(io::Error::other("the file is too long to belong to a run")),
        false => Ok(text),
    }
}

/// A finished run.
pub struct RunReader {
    dir: PathBuf,
    file: RunFile,
}

impl RunReader {
    /// Opens the run in `dir`; refuses tables newer than this program's.
    pub fn open(dir: &Path) -> Result<RunReader, RunError> {
        let path = dir.join(RUN_FILE);
        let text = read(&path).map_err(|e| match e.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => RunError::NotARun(dir.to_owned()),
            _ => RunError::io(&path)(e),
        })?;
        let version: RunVersion = serde_json::from_slice(&text).map_err(RunError::json(&path))?;
        if version.schema_version > SCHEMA_VERSION {
            return Err(RunError::Newer {
                path,
                found: version.schema_version,
                known: SCHEMA_VERSION,
            });
        }
        let file = serde_json::from_slice(&text).map_err(RunError::json(&path))?;
        Ok(RunReader {
            dir: dir.to_owned(),
            file,
        })
    }

    pub fn info(&self) -> &RunInfo {
        &self.file.info
    }

    pub fn tables(&self) -> &[StoredTable] {
        &self.file.tables
    }

    /// A table by name.
    pub fn table(&self, name: &str) -> Result<&StoredTable, RunError> {
        let found = self.tables().iter().find(|t| t.schema.name == name);
        found.ok_or_else(|| RunError::NoTable {
            name: name.to_owned(),
            have: self.table_names(),
        })
    }

    /// All columns of a table.
    pub fn read(&self, table: &str) -> Result<Batches, RunError> {
        self.batches(self.table(table)?, |_| true)
    }

    /// Only the named columns, in the order of the table; no other is read from the disk.
    pub fn read_columns(&self, table: &str, columns: &[&str]) -> Result<Batches, RunError> {
        self.batches(self.checked(table, columns)?, |name| {
            columns.contains(&name)
        })
    }

    /// A table that has these columns.
    fn checked(&self, table: &str, columns: &[&str]) -> Result<&StoredTable, RunError> {
        let stored = self.table(table)?;
        let has = |name: &str| stored.schema.columns.iter().any(|c| c.name == name);
        match columns.iter().find(|name| !has(name)) {
            None => Ok(stored),
            Some(missing) => Err(RunError::NoColumn {
                table: table.to_owned(),
                column: (*missing).to_owned(),
            }),
        }
    }

    /// As [`RunReader::read_columns`], of those rows alone whose value in the column `key`, a whole number and one of `columns`, is one of `keys`.
    pub fn read_rows(
        &self,
        table: &str,
        columns: &[&str],
        key: &str,
        keys: &BTreeSet<u64>,
    ) -> Result<Batches, RunError> {
        let stored = self.checked(table, columns)?;
        // The pages of no other column are checked.
        if !columns.contains(&key) {
            return Err(RunError::NoColumn {
                table: table.to_owned(),
                column: key.to_owned(),
            });
        }
        let (path, builder) = self.builder(stored, |name| columns.contains(&name))?;
        let leaves = builder.parquet_schema().columns().iter();
        let keyed = ProjectionMask::leaves(
            builder.parquet_schema(),
            leaves
                .enumerate()
                .filter(|(_, c)| c.name() == key)
                .map(|(leaf, _)| leaf),
        );
        let keys: Vec<u64> = keys.iter().copied().collect();
        let is_wanted = ArrowPredicateFn::new(keyed, move |batch| are_among(&batch, &keys));
        let builder = builder.with_row_filter(RowFilter::new(vec![Box::new(is_wanted)]));
        // It looks at all keys at once.
        let reader = decoded(|| builder.build()).map_err(RunError::parquet(&path))?;
        Ok(Batches {
            table: table.to_owned(),
            path,
            reader: Some(reader),
        })
    }

    /// All columns of a table as Arrow record batches. Each field's metadata has the column's meaning (`doc`) and, if it has one, its
    /// `unit`.
    ///
    /// # Errors
    /// The run has no such table, or its file cannot be read.
    pub fn read_arrow(&self, table: &str) -> Result<ArrowBatches, RunError> {
        let (path, reader) = self.reader(self.table(table)?, |_| true)?;
        Ok(ArrowBatches {
            path,
            schema: reader.schema(),
            reader: Some(reader),
        })
    }

    fn batches(
        &self,
        table: &StoredTable,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Batches, RunError> {
        let (path, reader) = self.reader(table, wanted)?;
        Ok(Batches {
            table: table.schema.name.clone(),
            path,
            reader: Some(reader),
        })
    }

    fn reader(
        &self,
        table: &StoredTable,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(PathBuf, ParquetRecordBatchReader), RunError> {
        let (path, builder) = self.builder(table, wanted)?;
        let reader = builder.build().map_err(RunError::parquet(&path))?;
        Ok((path, reader))
    }

    fn builder(
        &self,
        table: &StoredTable,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(PathBuf, ParquetRecordBatchReaderBuilder<File>), RunError> {
        let path = self.path_of(table)?;
        let file = File::open(&path).map_err(RunError::io(&path))?;
        let length = file.metadata().map_err(RunError::io(&path))?.len();
        let copy = file.try_clone().map_err(RunError::io(&path))?;
        let builder = decoded(|| ParquetRecordBatchReaderBuilder::try_new(file))
            .map_err(RunError::parquet(&path))?;
        if !are_within(builder.metadata(), length) {
            let source = ParquetError::General("its column offsets are invalid".to_owned());
            return Err(RunError::parquet(&path)(source));
        }
        let leaves = builder.parquet_schema().columns().iter().enumerate();
        let chosen: Vec<usize> = leaves
            .filter(|(_, c)| wanted(c.name()))
            .map(|(leaf, _)| leaf)
            .collect();
        check_pages(&copy, builder.metadata(), &chosen).map_err(RunError::parquet(&path))?;
        let mask = ProjectionMask::leaves(builder.parquet_schema(), chosen);
        Ok((
            path,
            builder.with_projection(mask).with_batch_size(BATCH_ROWS),
        ))
    }

    /// run.json may come from others: the file that it names must lie in the run's own folder.
    fn path_of(&self, table: &StoredTable) -> Result<PathBuf, RunError> {
        match Path::new(&table.file).file_name() == Some(OsStr::new(&table.file)) {
            true => Ok(self.dir.join(&table.file)),
            false => Err(RunError::BadName(table.file.clone())),
        }
    }

    fn table_names(&self) -> String {
        let names: Vec<&str> = self
            .tables()
            .iter()
            .map(|t| t.schema.name.as_str())
            .collect();
        names.join(", ")
    }
}

/// Of each row, whether the value of its only column is among `keys`, which are sorted.
fn are_among(batch: &RecordBatch, keys: &[u64]) -> Result<BooleanArray, ArrowError> {
    let Some(column) = batch.column(0).as_primitive_opt::<UInt64Type>() else {
        let text = "a column of keys has another type than its schema".to_owned();
        return Err(ArrowError::SchemaError(text));
    };
    let is_among = |key: Option<u64>| key.is_some_and(|key| keys.binary_search(&key).is_ok());
    Ok(column.iter().map(|key| Some(is_among(key))).collect())
}

/// Whether all columns lie in a file of that length: the library takes their places on trust.
fn are_within(metadata: &ParquetMetaData, length: u64) -> bool {
    let is_within = |column: &ColumnChunkMetaData| {
        let begin = column.dictionary_page_offset();
        let begin = begin.unwrap_or_else(|| column.data_page_offset());
        let end = begin.checked_add(column.compressed_size());
        let sizes = [begin, column.compressed_size(), column.num_values()];
        sizes.iter().all(|size| *size >= 0)
            && end.is_some_and(|end| u64::try_from(end).is_ok_and(|end| end <= length))
    };
    let mut groups = metadata.row_groups().iter();
    groups.all(|group| group.num_rows() >= 0 && group.columns().iter().all(is_within))
}

/// Refuses pages of these columns that claim more than they can have: the library makes room for what they claim.
fn check_pages(
    file: &File,
    metadata: &ParquetMetaData,
    columns: &[usize],
) -> Result<(), ParquetError> {
    for group in metadata.row_groups() {
        for column in columns {
            let chunk = group.column(*column);
            let is_compressed = chunk.compression() != Compression::UNCOMPRESSED;
            pages::check(file, chunk.byte_range(), is_compressed)?;
        }
    }
    Ok(())
}

/// The rows of a table, some thousand at a time.
pub struct Batches {
    table: String,
    path: PathBuf,
    /// None: the table has ended, or cannot be read any further.
    reader: Option<ParquetRecordBatchReader>,
}

/// What the library decodes. It panics at some damaged files; to us they are files that cannot be read.
fn decoded<T>(decode: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    decoded.unwrap_or_else(|_| Err(ParquetError::General("it is damaged".to_owned())))
}

impl Iterator for Batches {
    type Item = Result<Batch, RunError>;

    fn next(&mut self) -> Option<Result<Batch, RunError>> {
        let batch = next_of(&mut self.reader)?;
        let batch = batch.map_err(RunError::parquet(&self.path));
        Some(batch.and_then(|batch| Batch::from_arrow(&self.table, &batch)))
    }
}

/// The rows of a table as Arrow record batches, some thousand at a time.
pub struct ArrowBatches {
    path: PathBuf,
    schema: SchemaRef,
    /// None: the table has ended, or cannot be read any further.
    reader: Option<ParquetRecordBatchReader>,
}

impl Iterator for ArrowBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        let batch = next_of(&mut self.reader)?;
        let batch = batch.map_err(RunError::parquet(&self.path));
        Some(batch.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for ArrowBatches {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

/// The next batch; after an error there is none.
fn next_of(
    source: &mut Option<ParquetRecordBatchReader>,
) -> Option<Result<RecordBatch, ParquetError>> {
    let reader = source.as_mut()?;
    let batch = decoded(|| Ok(reader.next().transpose()?)).transpose()?;
    if batch.is_err() {
        *source = None;
    }
    Some(batch)
}
