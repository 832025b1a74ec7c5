//! Writing a run: rows come in pieces, the folder appears when it is whole.

use crate::columns::Gathered;
use crate::encoder::Encoder;
use crate::folder::{RUN_FILE, parent_of};
use crate::info::RunFile;
use crate::reader::Kept;
use crate::{RunError, RunInfo, RunReader, StoredTable, TableSchema};
use arrow_array::RecordBatch;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use unbloat_os::files;
use unbloat_table::{ColumnData, Rows, Table};

/// Rows go to the encoder in batches of at most so many rows, or bytes. Where a batch ends depends on its rows alone, not on the
/// pieces in which they came, so that equal rows are equal files.
const BATCH_ROWS: usize = 8192;
const BATCH_BYTES: usize = 4 << 20;
/// Of what is read at once when a run is finished.
const KEPT_BYTES: usize = 32 << 20;

/// Writes a run folder. Until [`RunWriter::finish`] it lies beside its place under a hidden name;
/// dropped before that, it vanishes.
pub struct RunWriter {
    dir: PathBuf,
    hidden: TempDir,
    tables: Vec<StoredTable>,
    gathered: Vec<Gathered>,
    /// Of the gathered rows, by table; see [`bytes_of`].
    bytes: Vec<usize>,
    /// `None` once it has failed.
    encoder: Option<Encoder>,
    /// Of each table what [`RunWriter::finish_read`] need not read, with its bytes; `None` of those that were too long.
    kept: Vec<Option<(usize, Vec<RecordBatch>)>>,
}

impl RunWriter {
    /// Begins a run that will be the folder `dir`, which must not exist or be empty (as
    /// [`crate::fresh_dir`] makes it). `info` is what is known now: its program, version and
    /// schema version go into each file.
    pub fn create(dir: &Path, info: &RunInfo, tables: &[Table]) -> Result<RunWriter, RunError> {
        refuse_used(dir)?;
        let parent = parent_of(dir);
        fs::create_dir_all(parent).map_err(RunError::io(parent))?;
        let hidden = hidden_beside(dir, parent).map_err(RunError::io(dir))?;
        let tables: Vec<StoredTable> = tables.iter().map(stored).collect();
        let encoder = Encoder::create(hidden.path(), info, &tables)?;
        Ok(RunWriter {
            dir: dir.to_owned(),
            gathered: tables.iter().map(|t| Gathered::new(&t.schema)).collect(),
            bytes: vec![0; tables.len()],
            hidden,
            tables,
            encoder: Some(encoder),
            kept: Vec::new(),
        })
    }

    /// Keeps tables in memory as far as they are short, for [`RunWriter::finish_read`].
    pub fn keep(&mut self) {
        self.kept = vec![Some((0, Vec::new())); self.tables.len()];
    }

    /// Where its files are until it is finished.
    pub fn unfinished(&self) -> &Path {
        self.hidden.path()
    }

    /// Appends rows to table number `table` of those given to [`RunWriter::create`].
    ///
    /// # Panics
    /// If there is no such table, or the rows belong to another one.
    pub fn append(&mut self, table: usize, rows: &Rows) -> Result<(), RunError> {
        let mut start = 0;
        while start < rows.len() {
            let gathered = &mut self.gathered[table];
            let room = BATCH_BYTES.saturating_sub(self.bytes[table]);
            let most = (BATCH_ROWS - gathered.rows()).min(rows.len() - start);
            let mut fitting = fitting(rows, start, most, room);
            if gathered.rows() == 0 {
                fitting = fitting.max(1);
            }
            let end = start + fitting;
            gathered.append(rows.columns(), start..end);
            self.bytes[table] += bytes_of(rows, start..end);
            start = end;
            if start < rows.len() {
                self.encode(table)?;
            }
        }
        Ok(())
    }

    /// Writes what is left, then run.json, and puts the folder in its place, which it returns.
    /// `info` tells how it ended; an interrupted run is as readable as a complete one.
    pub fn finish(self, info: &RunInfo) -> Result<PathBuf, RunError> {
        Ok(self.put(info)?.0)
    }

    /// As [`RunWriter::finish`]; opens the run.
    pub fn finish_read(self, info: &RunInfo) -> Result<RunReader, RunError> {
        let (dir, kept) = self.put(info)?;
        Ok(RunReader::open(&dir)?.with_kept(kept))
    }

    fn put(mut self, info: &RunInfo) -> Result<(PathBuf, Kept), RunError> {
        for table in 0..self.tables.len() {
            self.encode(table)?;
        }
        let counts = self.encoder.take().ok_or(RunError::Abandoned)?.finish()?;
        let names = self.tables.iter().map(|table| table.schema.name.clone());
        let kept = names.zip(self.kept);
        let kept = kept.filter_map(|(name, batches)| Some((name, batches?.1)));
        let kept: Kept = kept.collect();
        for (table, rows) in self.tables.iter_mut().zip(counts) {
            table.rows = rows;
        }
        let file = RunFile {
            info: info.clone(),
            tables: self.tables,
        };
        write_run_file(&self.hidden.path().join(RUN_FILE), &file)?;
        let dir = put_in_place(self.hidden, self.dir)?;
        Ok((dir, kept))
    }

    fn encode(&mut self, table: usize) -> Result<(), RunError> {
        let encoder = self.encoder.as_mut().ok_or(RunError::Abandoned)?;
        let gathered = &mut self.gathered[table];
        let bytes = std::mem::take(&mut self.bytes[table]);
        if gathered.rows() == 0 {
            return Ok(());
        }
        let batch = gathered.take();
        if let Some(Some((size, batches))) = self.kept.get_mut(table) {
            *size += bytes;
            batches.push(batch.clone());
            forget_longest(&mut self.kept);
        }
        if encoder.write(table, batch)? {
            return Ok(());
        }
        let failed = self.encoder.take().ok_or(RunError::Abandoned)?;
        failed.finish().and(Err(RunError::Abandoned))
    }
}

/// Keeps less if it is too much.
fn forget_longest(kept: &mut [Option<(usize, Vec<RecordBatch>)>]) {
    let sizes = kept
        .iter()
        .map(|kept| kept.as_ref().map_or(0, |(size, _)| *size));
    if sizes.clone().sum::<usize>() > KEPT_BYTES
        && let Some((_, longest)) = sizes.zip(0..).max()
    {
        kept[longest] = None;
    }
}

/// How many rows from `start` on take `room` bytes or less, at most `most`; found by halving.
fn fitting(rows: &Rows, start: usize, most: usize, room: usize) -> usize {
    let (mut fit, mut too_many) = (0, most + 1);
    while too_many - fit > 1 {
        let middle = fit + (too_many - fit) / 2;
        match bytes_of(rows, start..start + middle) <= room {
            true => fit = middle,
            false => too_many = middle,
        }
    }
    fit
}

/// Memory of rows: eight bytes a number, one a truth value; of a text its bytes and four.
fn bytes_of(rows: &Rows, range: Range<usize>) -> usize {
    let columns = rows.columns().iter().map(|column| match column {
        ColumnData::Text(texts) => {
            texts.start(range.end) - texts.start(range.start) + 4 * range.len()
        }
        ColumnData::Bool(_) => range.len(),
        ColumnData::U64(_) | ColumnData::I64(_) | ColumnData::F64(_) => 8 * range.len(),
    });
    columns.sum()
}

fn stored(table: &Table) -> StoredTable {
    StoredTable {
        file: format!("{}.parquet", table.name),
        rows: 0,
        schema: TableSchema::from(table),
    }
}

fn refuse_used(dir: &Path) -> Result<(), RunError> {
    let used = match fs::read_dir(dir) {
        // A link, also to nowhere or to an empty folder, cannot be replaced by a folder.
        _ if dir.is_symlink() => true,
        Ok(mut entries) => entries.next().is_some(),
        Err(e) => e.kind() != ErrorKind::NotFound,
    };
    match used {
        true => Err(RunError::Taken(dir.to_owned())),
        false => Ok(()),
    }
}

/// How the names of runs that will be called `name` begin until they are finished.
pub fn unfinished_prefix(name: &str) -> String {
    format!(".{name}.part-")
}

fn hidden_beside(dir: &Path, parent: &Path) -> io::Result<TempDir> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    // The finished folder is as open to others as any: the umask decides.
    tempfile::Builder::new()
        .prefix(&unfinished_prefix(&name))
        .permissions(Permissions::from_mode(0o777))
        .tempdir_in(parent)
}

fn write_run_file(path: &Path, file: &RunFile) -> Result<(), RunError> {
    let mut text = serde_json::to_vec_pretty(file).map_err(RunError::json(path))?;
    text.push(b'\n');
    files::replace(path, text).map_err(RunError::io(path))
}

/// A rename replaces an empty folder only: a run that got there first stays, and ours is kept.
fn put_in_place(hidden: TempDir, dir: PathBuf) -> Result<PathBuf, RunError> {
    match fs::rename(hidden.path(), &dir) {
        Ok(()) => {
            // Nothing is left to clean up where it was.
            let _ = hidden.keep();
            Ok(dir)
        }
        Err(e)
            if matches!(
                e.kind(),
                ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory
            ) =>
        {
            let kept = hidden.keep();
            Err(RunError::TakenMeanwhile { dir, kept })
        }
        Err(e) => Err(RunError::io(&dir)(e)),
    }
}
