//! Reads an earlier test from its run folder.

use super::FINDINGS;
use std::path::{Path, PathBuf};
use unbloat_fix::NotATest;
use unbloat_responsiveness::document::Test;

#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    #[error("cannot read {path}: {source}; give the folder of a run of `unbloat test`", path = path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}: {source}", path = path.display())]
    Document { path: PathBuf, source: NotATest },
}

/// Reads a run folder, or its `test.json`.
pub fn read(run: &Path) -> Result<Test, StoredError> {
    let path = match run.is_dir() {
        true => run.join(FINDINGS),
        false => run.to_owned(),
    };
    let text = std::fs::read_to_string(&path).map_err(|source| StoredError::Read {
        path: path.clone(),
        source,
    })?;
    unbloat_fix::read(&text).map_err(|source| StoredError::Document { path, source })
}
