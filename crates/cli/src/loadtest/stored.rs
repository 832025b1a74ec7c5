//! Reads an earlier test from its run folder.

use super::FINDINGS;
use crate::confine::apart;
use std::io;
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
    apart(run, || document(run))
}

fn document(run: &Path) -> Result<Test, StoredError> {
    let (path, opened) = match run.is_dir() {
        true => {
            let path = run.join(FINDINGS);
            let opened = files::open(&path);
            (path, opened)
        }
        false => (run.to_owned(), files::open_named(run)),
    };
    let read = opened.and_then(|file| files::text(file, LONGEST));
    let text = read.map_err(|source| StoredError::Read {
        path: path.clone(),
        source,
    })?;
    unbloat_fix::read(&text).map_err(|source| StoredError::Document { path, source })
}
