//! Reading a run back, in pieces: a table of any length takes the memory of one row group's
//! chosen columns.

use crate::folder::RUN_FILE;
use crate::info::{RunFile, RunVersion};
use crate::{Batch, RunError, RunInfo, StoredTable, pages};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{BooleanArray, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::filter::filter_record_batch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, ParquetRecordBatchReaderBuilder, RowFilter};
use parquet::basic::{Compression, Type};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unbloat_os::files;
use unbloat_table::SCHEMA_VERSION;

/// Rows that are read at a time, and what their texts take at most: fewer rows where texts are long.
const BATCH_ROWS: usize = 8192;
const BATCH_TEXTS: u64 = 64 << 20;
/// Of a text: the longest that we write are some sentences.
const LONGEST_TEXT: u64 = 64 << 10;
/// What all texts take that are read of a table: a dictionary may repeat a long one in a few bits. More than so many times its file, or so
/// many bytes in a small one, was not written by this program.
const TEXTS_PER_BYTE: u64 = 256;
const TEXTS: u64 = 256 << 20;

/// Cells that are read of a table: a page may repeat one billions of times in a few bytes. More than so many in each byte of its file, or so
/// many in a small one, were not written by this program, which has at most 28,191 in a page of 35 bytes or more.
const CELLS_PER_BYTE: u64 = 1024;
const CELLS: u64 = 1 << 25;

/// Of run.json: what is longer was not written by this program.
const LONGEST: u64 = 64 << 20;

/// A finished run.
pub struct RunReader {
    dir: PathBuf,
    file: RunFile,
    kept: Kept,
}

/// Tables, by name, that the process which wrote them still has in memory.
pub(crate) type Kept = BTreeMap<String, Vec<RecordBatch>>;

impl RunReader {
    /// Opens the run in `dir`; refuses tables newer than this program's.
    pub fn open(dir: &Path) -> Result<RunReader, RunError> {
        let path = dir.join(RUN_FILE);
        let text = files::read(&path, LONGEST).map_err(|e| match e.kind() {
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
            kept: Kept::new(),
        })
    }

    /// Takes these tables for those of the files.
    pub(crate) fn with_kept(self, kept: Kept) -> RunReader {
        RunReader { kept, ..self }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
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
        let sorted: Vec<u64> = keys.iter().copied().collect();
        // The pages of no other column are checked.
        if !columns.contains(&key) {
            return Err(RunError::NoColumn {
                table: table.to_owned(),
                column: key.to_owned(),
            });
        }
        if let Some(kept) = self.kept.get(table) {
            let wanted = kept.iter().map(|batch| -> Result<RecordBatch, ArrowError> {
                let keyed = batch.project(&[batch.schema_ref().index_of(key)?])?;
                let rows = are_among(&keyed, &sorted)?;
                filter_record_batch(&projected(batch, |name| columns.contains(&name))?, &rows)
            });
            let wanted: Vec<_> = wanted.collect();
            return Ok(self.of_kept(stored, wanted));
        }
        let (path, length, builder) = self.builder(stored, |name| columns.contains(&name))?;
        let leaves = builder.parquet_schema().columns().iter();
        let keyed = ProjectionMask::leaves(
            builder.parquet_schema(),
            leaves
                .enumerate()
                .filter(|(_, c)| c.name() == key)
                .map(|(leaf, _)| leaf),
        );
        let is_wanted = ArrowPredicateFn::new(keyed, move |batch| are_among(&batch, &sorted));
        let builder = builder.with_row_filter(RowFilter::new(vec![Box::new(is_wanted)]));
        let source = Source::of(builder, &path, length)?;
        Ok(Batches {
            table: table.to_owned(),
            path,
            source: Some(source),
        })
    }

    /// All columns of a table as Arrow record batches. Each field's metadata has the column's meaning (`doc`) and, if it has one, its
    /// `unit`.
    ///
    /// # Errors
    /// The run has no such table, or its file cannot be read.
    pub fn read_arrow(&self, table: &str) -> Result<ArrowBatches, RunError> {
        let (path, length, builder) = self.builder(self.table(table)?, |_| true)?;
        let schema = SchemaRef::clone(builder.schema());
        let source = Source::of(builder, &path, length)?;
        Ok(ArrowBatches {
            path,
            schema,
            source: Some(source),
        })
    }

    fn of_kept(
        &self,
        table: &StoredTable,
        batches: Vec<Result<RecordBatch, ArrowError>>,
    ) -> Batches {
        Batches {
            table: table.schema.name.clone(),
            path: self.dir.join(&table.file),
            source: Some(Source {
                reader: Box::new(batches.into_iter()),
                texts: u64::MAX,
            }),
        }
    }

    fn batches(
        &self,
        table: &StoredTable,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Batches, RunError> {
        if let Some(kept) = self.kept.get(&table.schema.name) {
            let kept = kept.iter().map(|batch| projected(batch, &wanted));
            let kept: Vec<_> = kept.collect();
            return Ok(self.of_kept(table, kept));
        }
        let (path, length, builder) = self.builder(table, wanted)?;
        let source = Source::of(builder, &path, length)?;
        Ok(Batches {
            table: table.schema.name.clone(),
            path,
            source: Some(source),
        })
    }

    /// Where the table is, how long its file is, and what reads it.
    fn builder(
        &self,
        table: &StoredTable,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(PathBuf, u64, ParquetRecordBatchReaderBuilder<File>), RunError> {
        let path = self.path_of(table)?;
        let file = files::open(&path).map_err(RunError::io(&path))?;
        let length = file.metadata().map_err(RunError::io(&path))?.len();
        let copy = file.try_clone().map_err(RunError::io(&path))?;
        let checked = || pages::check_footer(&copy);
        let builder =
            decoded(|| checked().and_then(|()| ParquetRecordBatchReaderBuilder::try_new(file)))
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
        let longest = decoded(|| check_pages((&copy, length), builder.metadata(), &chosen));
        let longest = longest.map_err(RunError::parquet(&path))?;
        let rows = (BATCH_TEXTS / longest.max(1)).clamp(1, BATCH_ROWS as u64);
        let mask = ProjectionMask::leaves(builder.parquet_schema(), chosen);
        let builder = builder.with_projection(mask);
        Ok((path, length, builder.with_batch_size(rows as usize)))
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

fn projected(
    batch: &RecordBatch,
    wanted: impl Fn(&str) -> bool,
) -> Result<RecordBatch, ArrowError> {
    let fields = batch.schema_ref().fields().iter().enumerate();
    let chosen = fields.filter(|(_, field)| wanted(field.name()));
    let chosen: Vec<usize> = chosen.map(|(at, _)| at).collect();
    batch.project(&chosen)
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

/// Refuses pages of these columns that claim more than they can have: the library makes room for what they claim. Returns what the texts of
/// a row take at most, by the longest of each dictionary, or in the mean of the page where there is none.
fn check_pages(
    (file, length): (&File, u64),
    metadata: &ParquetMetaData,
    columns: &[usize],
) -> Result<u64, ParquetError> {
    let file = Arc::new(file.try_clone()?);
    let mut longest = 0;
    let mut cells = CELLS.max(length.saturating_mul(CELLS_PER_BYTE));
    for group in metadata.row_groups() {
        let mut of_row = 0;
        for column in columns {
            let chunk = group.column(*column);
            let is_compressed = chunk.compression() != Compression::UNCOMPRESSED;
            let (mean, values) = pages::check(&file, chunk.byte_range(), is_compressed)?;
            let too_many = || "its rows are too many for so small a file".to_owned();
            let left = cells.checked_sub(values);
            cells = left.ok_or_else(|| ParquetError::General(too_many()))?;
            if chunk.column_type() == Type::BYTE_ARRAY {
                let text = mean.max(longest_of_dictionary(&file, chunk)?);
                if text > LONGEST_TEXT {
                    let why = format!("a text is longer than {LONGEST_TEXT} bytes");
                    return Err(ParquetError::General(why));
                }
                of_row += text;
            }
        }
        longest = longest.max(of_row);
    }
    Ok(longest)
}

/// Zero if the column chunk has no dictionary.
fn longest_of_dictionary(
    file: &Arc<File>,
    chunk: &ColumnChunkMetaData,
) -> Result<u64, ParquetError> {
    if chunk.dictionary_page_offset().is_none() {
        return Ok(0);
    }
    let mut pages = SerializedPageReader::new(Arc::clone(file), chunk, 0, None)?;
    let Some(Page::DictionaryPage { buf, .. }) = pages.get_next_page()? else {
        return Ok(0);
    };
    // Plain: each text after its length.
    let (mut rest, mut longest) = (&buf[..], 0);
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length);
        longest = longest.max(length);
        rest = after.get(length as usize..).unwrap_or_default();
    }
    Ok(longest.into())
}

/// The rows of a table, some thousand at a time.
pub struct Batches {
    table: String,
    path: PathBuf,
    /// None: the table has ended, or cannot be read any further.
    source: Option<Source>,
}

/// What the library decodes. It panics at some damaged files; to us they are files that cannot be read.
fn decoded<T>(decode: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    decoded.unwrap_or_else(|_| Err(ParquetError::General("it is damaged".to_owned())))
}

impl Iterator for Batches {
    type Item = Result<Batch, RunError>;

    fn next(&mut self) -> Option<Result<Batch, RunError>> {
        let batch = next_of(&mut self.source)?;
        let batch = batch.map_err(RunError::parquet(&self.path));
        Some(batch.and_then(|batch| Batch::from_arrow(&self.table, &batch)))
    }
}

/// The rows of a table as Arrow record batches, some thousand at a time.
pub struct ArrowBatches {
    path: PathBuf,
    schema: SchemaRef,
    /// None: the table has ended, or cannot be read any further.
    source: Option<Source>,
}

impl Iterator for ArrowBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        let batch = next_of(&mut self.source)?;
        let batch = batch.map_err(RunError::parquet(&self.path));
        Some(batch.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for ArrowBatches {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

/// A table that is being read.
struct Source {
    reader: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>,
    /// What its texts may still take.
    texts: u64,
}

impl Source {
    fn of(
        builder: ParquetRecordBatchReaderBuilder<File>,
        path: &Path,
        length: u64,
    ) -> Result<Source, RunError> {
        // A filter of rows looks at the first already.
        let reader = decoded(|| builder.build()).map_err(RunError::parquet(path))?;
        let texts = length.saturating_mul(TEXTS_PER_BYTE).max(TEXTS);
        Ok(Source {
            reader: Box::new(reader),
            texts,
        })
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, ParquetError> {
        let Some(batch) = self.reader.next().transpose()? else {
            return Ok(None);
        };
        let texts = batch
            .columns()
            .iter()
            .filter_map(|c| c.as_string_opt::<i32>());
        let bytes: usize = texts.map(|texts| texts.value_data().len()).sum();
        let left = self.texts.checked_sub(bytes as u64);
        self.texts = left.ok_or_else(|| {
            ParquetError::General("its texts are too many for so small a file".to_owned())
        })?;
        Ok(Some(batch))
    }
}

/// The next batch; after an error there is none.
fn next_of(source: &mut Option<Source>) -> Option<Result<RecordBatch, ParquetError>> {
    let from = source.as_mut()?;
    let batch = decoded(|| from.next()).transpose()?;
    if batch.is_err() {
        *source = None;
    }
    Some(batch)
}
