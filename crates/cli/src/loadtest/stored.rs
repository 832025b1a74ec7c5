//! Reads an earlier test from its run folder.

use super::FINDINGS;
use crate::confine::apart;
use crate::exit::Failure;
use std::path::Path;
use unbloat_os::files;
use unbloat_responsiveness::document::Test;

/// Of the findings of a test.
const LONGEST: u64 = 16 << 20;

/// Reads a run folder, or its `test.json`.
pub fn read(run: &Path) -> Result<Test, Failure> {
    apart(run, || document(run))
}

fn document(run: &Path) -> Result<Test, Failure> {
    let (path, opened) = match run.is_dir() {
        true => {
            let path = run.join(FINDINGS);
            let opened = files::open(&path);
            (path, opened)
        }
        false => (run.to_owned(), files::open_named(run)),
    };
    let read = opened.and_then(|file| files::text(file, LONGEST));
    let text = read.map_err(|source| {
        format!(
            "cannot read {path}: {source}; give the folder of a run of `unbloat test`",
            path = path.display()
        )
    })?;
    unbloat_fix::read(&text).map_err(|source| format!("{}: {source}", path.display()).into())
}
