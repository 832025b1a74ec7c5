//! Reads an earlier test from its run folder.

use super::FINDINGS;
use std::path::{Path, PathBuf};
use unbloat_remedy::{NotATest, Tested};

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

/// Reads a run folder, or its `test.json`: the document, and the test in it.
pub fn read(run: &Path) -> Result<(serde_json::Value, Tested), StoredError> {
    let path = match run.is_dir() {
        true => run.join(FINDINGS),
        false => run.to_owned(),
    };
    let text = std::fs::read_to_string(&path).map_err(|source| StoredError::Read {
        path: path.clone(),
        source,
    })?;
    let tested = Tested::read(&text).map_err(|source| StoredError::Document { path, source })?;
    Ok((serde_json::from_str(&text).unwrap_or_default(), tested))
}
