//! Names of run folders: unused ones, and `latest`.

use crate::RunError;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The file that makes a folder a run.
pub const RUN_FILE: &str = "run.json";

/// Takes an unused name in `base` (made if missing): `stem`, else `stem-2`, `stem-3`, ...
///
/// The folder is made empty, so that two programs never pick the same one; [`crate::RunWriter`]
/// puts the finished run in its place.
pub fn fresh_dir(base: &Path, stem: &str) -> Result<PathBuf, RunError> {
    if Path::new(stem).file_name() != Some(OsStr::new(stem)) {
        return Err(RunError::BadName(stem.to_owned()));
    }
    fs::create_dir_all(base).map_err(RunError::io(base))?;
    let mut dir = base.join(stem);
    for n in 2_u64.. {
        match fs::create_dir(&dir) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                dir = base.join(format!("{stem}-{n}"))
            }
            made => return made.map(|()| dir.clone()).map_err(RunError::io(&dir)),
        }
    }
    unreachable!("a folder holds fewer than 2^64 names")
}

/// Points the symbolic link `latest`, beside `dir`, at `dir`; to be called when the run is whole.
/// A `latest` that is no link is left alone and is an error.
pub fn link_latest(dir: &Path) -> Result<(), RunError> {
    let name = dir
        .file_name()
        .ok_or_else(|| RunError::BadName(dir.display().to_string()))?;
    let parent = parent_of(dir);
    let latest = parent.join("latest");
    let link = tempfile::Builder::new()
        .prefix(".latest-")
        .make_in(parent, |path| symlink(name, path))
        .map_err(RunError::io(&latest))?;
    if fs::symlink_metadata(&latest).is_ok_and(|found| !found.is_symlink()) {
        return Err(RunError::Taken(latest));
    }
    let put = link.into_temp_path().persist(&latest);
    put.map_err(|e| RunError::io(&latest)(e.error))
}

/// The folder that `dir` is in; `.` for a bare name.
pub(crate) fn parent_of(dir: &Path) -> &Path {
    match dir.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::tempdir;

    #[test]
    fn names_in_use_are_passed_over() {
        let base = tempdir().expect("a scratch folder");
        let runs = base.path().join("runs");
        let names: Vec<PathBuf> = (0..3)
            .map(|_| fresh_dir(&runs, "2012-10-12-a.pcap").expect("a name"))
            .collect();
        let expected = [
            "2012-10-12-a.pcap",
            "2012-10-12-a.pcap-2",
            "2012-10-12-a.pcap-3",
        ];
        assert_eq!(names, expected.map(|n| runs.join(n)));
    }

    #[test]
    fn a_name_cannot_leave_its_base() {
        let base = tempdir().expect("a scratch folder");
        for stem in ["", ".", "..", "a/b", "/etc", "a/"] {
            let refused = fresh_dir(base.path(), stem);
            assert!(matches!(refused, Err(RunError::BadName(_))), "{stem:?}");
        }
    }

    #[test]
    fn latest_follows_the_last_run() {
        let base = tempdir().expect("a scratch folder");
        for _ in 0..2 {
            let dir = fresh_dir(base.path(), "run").expect("a name");
            link_latest(&dir).expect("a link");
            let latest = fs::read_link(base.path().join("latest")).expect("a link");
            assert_eq!(Some(latest.as_os_str()), dir.file_name());
        }
    }

    #[test]
    fn a_folder_called_latest_is_left_alone() {
        let base = tempdir().expect("a scratch folder");
        fs::create_dir(base.path().join("latest")).expect("a folder");
        let dir = fresh_dir(base.path(), "run").expect("a name");
        assert!(matches!(link_latest(&dir), Err(RunError::Taken(_))));
        assert_eq!(fs::read_dir(base.path()).expect("readable").count(), 2);
    }
}
