//! What can go wrong with a run folder.

use parquet::errors::ParquetError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a run could not be written or read.
#[derive(Debug, Error)]
pub enum RunError {
    #[error("{path} already exists, and runs are never overwritten; choose another folder", path = .0.display())]
    Taken(PathBuf),
    #[error(
        "another process has written to {dir} in the meantime; this run is complete and stored in {kept}",
        dir = .dir.display(), kept = .kept.display()
    )]
    TakenMeanwhile { dir: PathBuf, kept: PathBuf },
    #[error("{0:?} is not a valid folder name; use a name without slashes")]
    BadName(String),
    #[error("{path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{path}: {source}", path = .path.display())]
    Parquet { path: PathBuf, source: ParquetError },
    #[error("{path}: {source}; the file was changed after the run or was not written by unbloat", path = .path.display())]
    Json {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("an earlier write of this run failed; fix the cause and repeat the run")]
    Abandoned,
    #[error("{path} has no run.json; give the folder of a finished run, or a name that `unbloat runs list` prints", path = .0.display())]
    NotARun(PathBuf),
    #[error(
        "{path} has tables of version {found}, but this version of unbloat supports up to {known}; use a newer unbloat",
        path = .path.display()
    )]
    Newer {
        path: PathBuf,
        found: u32,
        known: u32,
    },
    #[error("the run has no table {name}; its tables are {have}")]
    NoTable { name: String, have: String },
    #[error(
        "table {table} has no column {column}; see docs/schema.md (the run may be of an older version)"
    )]
    NoColumn { table: String, column: String },
    #[error(
        "table {table}, column {column} has unsupported type {found}; the file was changed after the run"
    )]
    ColumnType {
        table: String,
        column: String,
        found: String,
    },
}

impl RunError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> RunError + '_ {
        move |source| RunError::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn parquet(path: &Path) -> impl FnOnce(ParquetError) -> RunError + '_ {
        move |source| RunError::Parquet {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn json(path: &Path) -> impl FnOnce(serde_json::Error) -> RunError + '_ {
        move |source| RunError::Json {
            path: path.to_owned(),
            source,
        }
    }
}
