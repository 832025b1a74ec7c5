//! A campaign on disk. A run is finished when its folder exists: folders are created atomically, so a campaign may be interrupted at any
//! time.
//!
//! ```text
//! campaign-NAME/
//!   cells/CELL.REPEAT/   one run: run.json and tables
//!   report/              the tables of all runs, report.html
//!   lock                 held by the process that uses the folder
//! ```

use super::measure::Came;
use crate::exit::Failure;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use unbloat_api::folder::write_tables;
use unbloat_campaign::{Campaign, Reading, Run};
use unbloat_os::files;
use unbloat_run::{RunError, RunInfo, RunReader, unfinished_prefix};
use unbloat_table::{Row, Rows, Table, columns};

/// Attempts to take the lock, and the time between them.
const PATIENCE: u32 = 20;
const NAP: Duration = Duration::from_millis(50);

pub struct Folder {
    dir: PathBuf,
    /// Locked as long as it is open. `None`: nothing is written here.
    #[expect(dead_code, reason = "its end releases the lock")]
    lock: Option<File>,
}

fn unusable(folder: &Path) -> impl Fn(io::Error) -> Failure + Copy {
    move |error| format!("cannot use the folder {}: {error}", folder.display()).into()
}

impl Folder {
    /// What is measured, without making or changing anything.
    pub fn look(dir: &Path) -> Folder {
        Folder {
            dir: dir.to_owned(),
            lock: None,
        }
    }

    /// Takes the folder's lock, which the kernel releases when the process ends.
    pub fn open(dir: &Path) -> Result<Folder, Failure> {
        let failed = unusable(dir);
        let cells = dir.join("cells");
        fs::create_dir_all(&cells).map_err(failed)?;
        // Runs are written and removed there, not where somebody has it lead.
        if fs::symlink_metadata(&cells).map_err(failed)?.is_symlink() {
            return Err(failed(io::Error::other("its cells are a symbolic link")));
        }
        let lock = files::append(&dir.join("lock")).map_err(failed)?;
        if !is_locked(&lock) {
            return Err(format!("the folder {} is in use by another unbloat process; wait for its end, or give another --out", dir.display()).into());
        }
        Ok(Folder {
            dir: dir.to_owned(),
            lock: Some(lock),
        })
    }

    /// Removes unfinished runs of this campaign, which a killed process left. The lock excludes other writers.
    pub fn clean(&self, campaign: &Campaign) -> Result<(), Failure> {
        let place = self.cells();
        let failed = unusable(&place);
        let cells = campaign.cells();
        let names = cells
            .iter()
            .flat_map(|cell| (0..campaign.repeats).map(|repeat| cell.run_name(repeat)));
        let ours: Vec<String> = names.map(|name| unfinished_prefix(&name)).collect();
        for entry in fs::read_dir(self.cells()).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_ours = ours.iter().any(|prefix| name.starts_with(prefix));
            if is_ours && entry.file_type().map_err(failed)?.is_dir() {
                fs::remove_dir_all(entry.path()).map_err(failed)?;
            }
        }
        Ok(())
    }

    pub fn cells(&self) -> PathBuf {
        self.dir.join("cells")
    }

    pub fn report(&self) -> PathBuf {
        self.dir.join("report")
    }

    /// Names of finished runs.
    pub fn done(&self) -> Result<BTreeSet<String>, Failure> {
        let entries = match fs::read_dir(self.cells()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries.map_err(unusable(&self.cells()))?,
        };
        // A link leads to a run of somebody else.
        let whole = entries.flatten().filter(|entry| {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            is_folder && RunReader::open(&entry.path()).is_ok()
        });
        Ok(whole
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect())
    }

    /// Stores a run; its folder appears atomically.
    pub fn keep(&self, name: &str, info: &RunInfo, came: &Came) -> Result<(), RunError> {
        let mut all = vec![with_rows(&came.readings)];
        all.extend(came.tables.iter().cloned());
        write_tables(&self.cells().join(name), info, &all).map(drop)
    }

    /// All finished runs of the campaign, and the number of finished runs that do not belong to it.
    pub fn runs(&self, campaign: &Campaign) -> Result<(Vec<Run>, usize), Failure> {
        let mut done = self.done()?;
        let mut runs = Vec::new();
        for cell in campaign.cells() {
            for repeat in 0..campaign.repeats {
                let name = cell.run_name(repeat);
                if !done.remove(&name) {
                    continue;
                }
                let reader = RunReader::open(&self.cells().join(&name))?;
                runs.push(Run {
                    cell: cell.index,
                    repeat,
                    readings: read_readings(&reader)?,
                    notes: reader.info().left_out.clone(),
                });
            }
        }
        Ok((runs, done.len()))
    }
}

/// Takes the lock, waiting a little: a process that is just ending, or one that another thread is just starting, may still hold it.
fn is_locked(lock: &File) -> bool {
    (0..PATIENCE).any(|number| {
        if number > 0 {
            std::thread::sleep(NAP);
        }
        flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok()
    })
}

columns! {
    /// The table that a campaign's run has in addition to those of a test.
    pub struct ReadingRow<'a>: readings = "one row per number that the run found" {
        load: &'a str = "what loaded the path: idle, down, up or both",
        subject: &'a str = "a direction, an application by its name, or all",
        metric: &'a str = "which number, with its unit as suffix",
        value: f64 = "in the metric's unit",
    }
}

fn with_rows(readings: &[Reading]) -> (Table, Rows) {
    ReadingRow::filled(readings.iter().map(|reading| ReadingRow {
        load: &reading.load,
        subject: &reading.subject,
        metric: &reading.metric,
        value: reading.value,
    }))
}

fn read_readings(run: &RunReader) -> Result<Vec<Reading>, RunError> {
    let mut readings = Vec::new();
    for batch in run.read(ReadingRow::NAME)? {
        let batch = batch?;
        let [load, subject, metric, value] = batch.columns() else {
            continue;
        };
        for row in 0..batch.len() {
            let text = |column: &unbloat_table::ColumnData| column.as_text(row).map(str::to_owned);
            if let (Some(load), Some(subject), Some(metric), Some(value)) =
                (text(load), text(subject), text(metric), value.as_f64(row))
            {
                readings.push(Reading {
                    load,
                    subject,
                    metric,
                    value,
                });
            }
        }
    }
    Ok(readings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(value: f64) -> Came {
        let reading = Reading {
            load: "up".to_owned(),
            subject: "down".to_owned(),
            metric: "added_p95_ms".to_owned(),
            value,
        };
        Came {
            readings: vec![reading],
            notes: Vec::new(),
            tables: Vec::new(),
            verdict: serde_json::Value::Null,
        }
    }

    #[test]
    fn what_is_kept_is_found_again_and_what_was_being_written_is_not() {
        let place = tempfile::tempdir().unwrap();
        let campaign =
            Campaign::parse("server = \"box\"\nrepeats = 3\naxes.http = [\"1.1\", \"2\"]").unwrap();
        let cells = campaign.cells();
        let info = RunInfo::new("test", "0", Vec::new());
        {
            let folder = Folder::open(place.path()).unwrap();
            folder
                .keep(&cells[1].run_name(2), &info, &came(7.0))
                .unwrap();
            folder
                .keep("of-another.12345678.1", &info, &came(8.0))
                .unwrap();
            // As a kill in the middle leaves it.
            let half = format!("cells/.{}.part-a1B2c3", cells[0].run_name(0));
            fs::create_dir(place.path().join(half)).unwrap();
            fs::create_dir(place.path().join("cells/.git")).unwrap();
            fs::create_dir(place.path().join(".git")).unwrap();
            fs::create_dir(place.path().join("cells").join(cells[0].run_name(0))).unwrap();
            let busy = Folder::open(place.path())
                .map(drop)
                .unwrap_err()
                .to_string();
            assert!(busy.contains("in use by another"), "{busy}");
        }
        let folder = Folder::open(place.path()).unwrap();
        let hidden = || {
            let entries = fs::read_dir(place.path().join("cells")).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name.starts_with('.')).count()
        };
        assert_eq!(hidden(), 2);
        folder.clean(&campaign).unwrap();
        assert_eq!(hidden(), 1);
        assert!(place.path().join(".git").exists());
        let (runs, foreign) = folder.runs(&campaign).unwrap();
        assert_eq!((runs.len(), foreign), (1, 1));
        assert_eq!((runs[0].cell, runs[0].repeat), (1, 2));
        assert_eq!(runs[0].readings, came(7.0).readings);
        assert_eq!(campaign.left(&folder.done().unwrap(), &[]).len(), 5);
        // The empty folder is no obstacle.
        folder
            .keep(&cells[0].run_name(0), &info, &came(1.0))
            .unwrap();
        assert_eq!(folder.runs(&campaign).unwrap().0.len(), 2);
    }
}
