//! Reads an earlier test from its run folder.

use super::FINDINGS;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use unbloat_fix::NotATest;
use unbloat_os::files;
use unbloat_responsiveness::document::Test;

/// Of the findings of a test.
const LONGEST: u64 = 16 << 20;

#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    #[error("cannot read {path}: {source}; give the folder of a run of `unbloat test`", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{path}: {source}", path = path.display())]
    Document { path: PathBuf, source: NotATest },
}

/// Reads a run folder, or its `test.json`.
pub fn read(run: &Path) -> Result<Test, StoredError> {
    let path = match run.is_dir() {
        true => run.join(FINDINGS),
        false => run.to_owned(),
    };
    let read = files::open_named(&path).and_then(|file| io::read_to_string(file.take(LONGEST)));
    let text = read.map_err(|source| StoredError::Read {
        path: path.clone(),
        source,
    })?;
    unbloat_fix::read(&text).map_err(|source| StoredError::Document { path, source })
}
