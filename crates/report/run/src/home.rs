//! Where the runs of a user are, and their short names.

use crate::RUN_FILE;
use std::path::{Component, Path, PathBuf};
use unbloat_os::folders;

/// The environment variable that names the folder of runs.
const VARIABLE: &str = "UNBLOAT_RUNS";

/// The folder for runs to which nobody gave a place: `$UNBLOAT_RUNS`, else `runs` in the [data folder](folders::data).
pub fn runs_dir() -> PathBuf {
    let given = std::env::var_os(VARIABLE).filter(|dir| !dir.is_empty());
    given.map_or_else(|| folders::data().join("runs"), PathBuf::from)
}

/// The run that `name` means: the folder with this path, else the run with this name in [`runs_dir`], `latest` included. Of a campaign it
/// is the report.
/// Without either it is `name`, so that opening it tells what is missing.
pub fn find_run(name: &Path) -> PathBuf {
    found(name, &runs_dir())
}

fn found(name: &Path, runs: &Path) -> PathBuf {
    let mut parts = name.components();
    let is_name = matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(_)), None)
    );
    let run = runs.join(name);
    let place = match is_name && !name.exists() && run.exists() {
        true => run,
        false => name.to_owned(),
    };
    let report = place.join("report");
    let is_report = !report.is_symlink() && report.join(RUN_FILE).exists();
    match !place.join(RUN_FILE).exists() && is_report {
        true => report,
        false => place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_path_first_and_then_a_run_of_the_user() {
        let runs = tempfile::tempdir().unwrap();
        std::fs::create_dir(runs.path().join("2026-11-02-test")).unwrap();
        let find = |name: &str| found(Path::new(name), runs.path());
        assert_eq!(find("2026-11-02-test"), runs.path().join("2026-11-02-test"));
        // Paths are paths: nothing outside the folder is a name.
        for path in ["nothing", "./2026-11-02-test", "..", "a/b", "src"] {
            assert_eq!(find(path), Path::new(path));
        }
        let report = runs.path().join("campaign-nights/report");
        std::fs::create_dir_all(&report).unwrap();
        std::fs::write(report.join(RUN_FILE), "{}").unwrap();
        assert_eq!(find("campaign-nights"), report);
    }
}
