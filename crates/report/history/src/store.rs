//! The folder.

use crate::tables::{read, rows, tables};
use rustix::fs::FlockOperation;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use tracing::{debug, info, warn};
use unbloat_monitor::{Age, Calendar, Record, Retention, headline, thin};
use unbloat_os::files;
use unbloat_run::{RunError, RunInfo, RunReader, RunWriter};
use unbloat_units::Bytes;

/// Records of a day: of spans of a minute, twice what they can be.
pub const MOST_RECORDS: usize = 50_000;
/// Less holds no day.
pub const LEAST_DISK: Bytes = Bytes::mib(4);
/// Bytes of a line of a journal.
const LONGEST_LINE: u64 = 64 << 10;
/// What a run takes besides its rows: run.json, and heads and feet of its tables.
const RUN_BYTES: u64 = 64 << 10;
const LOCK: &str = "monitor.lock";

/// Why the history cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("cannot write {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{0} is in use by another unbloat monitor; use another folder")]
    Taken(PathBuf),
    #[error("cannot keep a history within {0}; use at least 4 MiB")]
    Disk(Bytes),
}

fn named(path: &Path) -> impl FnOnce(io::Error) -> HistoryError {
    let path = path.to_owned();
    move |source| HistoryError::Io { path, source }
}

/// A folder of days, open for writing.
pub struct History {
    folder: PathBuf,
    retention: Retention,
    info: RunInfo,
    today: Option<Today>,
    /// Resolution of the days that were thinned, so that they are not read again.
    thinned: BTreeMap<i64, Age>,
    dropped: u64,
    _lock: File,
}

/// The day that records go to.
struct Today {
    day: i64,
    records: Vec<Record>,
    journal: File,
    journal_bytes: u64,
    /// Records that are not in the day's run yet.
    unsaved: usize,
}

impl History {
    /// Opens a folder, which is made if it is missing, and brings what was left by a killed process into order. `info` describes the
    /// command, for the run of each day.
    ///
    /// # Errors
    /// The folder cannot be written, or another process writes it.
    pub fn open(
        folder: &Path,
        retention: Retention,
        info: RunInfo,
    ) -> Result<History, HistoryError> {
        if retention.disk < LEAST_DISK {
            return Err(HistoryError::Disk(retention.disk));
        }
        fs::create_dir_all(folder).map_err(named(folder))?;
        let path = folder.join(LOCK);
        let lock = files::append(&path).map_err(named(&path))?;
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(HistoryError::Taken(folder.to_owned()));
        }
        let mut history = History {
            folder: folder.to_owned(),
            retention,
            info,
            today: None,
            thinned: BTreeMap::new(),
            dropped: 0,
            _lock: lock,
        };
        history.tidy()?;
        Ok(history)
    }

    /// Records that were dropped because a day was full.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Adds a record now, by the wall clock.
    ///
    /// # Errors
    /// The journal cannot be written. The record is kept in memory then.
    pub fn add(&mut self, record: Record, now_ns: i64) -> Result<(), HistoryError> {
        let day = Calendar::day_of(now_ns);
        if self.today.as_ref().is_none_or(|today| today.day != day) {
            self.turn_to(day)?;
        }
        let quarter = self.retention.disk.as_u64() / 4;
        let Some(today) = &mut self.today else {
            return Ok(());
        };
        let mut line = serde_json::to_vec(&record)
            .map_err(io::Error::from)
            .map_err(named(&self.folder))?;
        line.push(b'\n');
        let bytes = line.len() as u64;
        if today.records.len() >= MOST_RECORDS || today.journal_bytes + bytes > quarter {
            self.dropped += 1;
            return Ok(());
        }
        today.records.push(record);
        today.unsaved += 1;
        today.journal_bytes += bytes;
        // One write: a line is whole, or the last.
        today.journal.write_all(&line).map_err(named(&self.folder))
    }

    /// Closes the day that was and opens another one, which may be one that was closed before if the clock was set back.
    fn turn_to(&mut self, day: i64) -> Result<(), HistoryError> {
        self.save_today()?;
        if let Some(before) = self.today.take() {
            self.forget_journal(before.day)?;
        }
        let records = self.day(day)?;
        self.make_room(0, day)?;
        let path = self.journal_path(day);
        let journal = files::append(&path);
        let journal = journal.map_err(named(&path))?;
        let journal_bytes = journal.metadata().map_err(named(&path))?.len();
        debug!(
            day = Calendar::day_name(day),
            records = records.len(),
            "day opened"
        );
        self.today = Some(Today {
            day,
            unsaved: 0,
            records,
            journal,
            journal_bytes,
        });
        Ok(())
    }

    /// Writes today's run, thins older days and deletes the oldest, by the wall clock.
    ///
    /// # Errors
    /// A run cannot be written.
    pub fn save(&mut self, now_ns: i64) -> Result<(), HistoryError> {
        self.save_today()?;
        let today = Calendar::day_of(now_ns);
        for day in self.days()? {
            let age = self.retention.age(today - day);
            if self.thinned.get(&day).is_some_and(|known| *known >= age) {
                continue;
            }
            match (age, age.resolution()) {
                (Age::Deleted, _) => self.delete(day)?,
                (_, Some(resolution)) => {
                    let records = self.day(day)?;
                    let before = records.len();
                    let thinned = thin(records, resolution);
                    if thinned.len() < before {
                        info!(
                            day = Calendar::day_name(day),
                            before,
                            after = thinned.len(),
                            "day thinned"
                        );
                        self.write(day, &thinned)?;
                    }
                }
                (_, None) => {}
            }
            self.thinned.insert(day, age);
        }
        self.make_room(0, today)
    }

    fn save_today(&mut self) -> Result<(), HistoryError> {
        let Some(today) = &self.today else {
            return Ok(());
        };
        if today.unsaved == 0 {
            return Ok(());
        }
        let (day, records) = (today.day, today.records.clone());
        self.write(day, &records)?;
        // Now the run has all that the journal has.
        if let Some(saved) = &mut self.today {
            saved.journal.set_len(0).map_err(named(&self.folder))?;
            saved.journal_bytes = 0;
            saved.unsaved = 0;
        }
        Ok(())
    }

    /// The records of a day, its journal's too; of today from memory.
    ///
    /// # Errors
    /// Its run cannot be read.
    pub fn day(&self, day: i64) -> Result<Vec<Record>, HistoryError> {
        if let Some(today) = self.today.as_ref().filter(|today| today.day == day) {
            return Ok(today.records.clone());
        }
        let folder = self.day_path(day);
        let mut records = match RunReader::open(&folder) {
            Ok(run) => read(&run)?,
            Err(RunError::NotARun(_)) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        // A process that was killed between writing the run and emptying the journal left both.
        let known = records.len();
        for record in self.journal(day)? {
            let at = record.start_ns();
            let first = records[..known].partition_point(|other| other.start_ns() < at);
            let mut same = records[first..known].iter();
            let mut same = same.by_ref().take_while(|other| other.start_ns() == at);
            if !same.any(|other| *other == record) {
                records.push(record);
            }
        }
        Ok(records)
    }

    /// Days that are kept, oldest first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn days(&self) -> Result<Vec<i64>, HistoryError> {
        let names = self.names()?;
        let days = names.iter().filter_map(|name| Calendar::day_named(name));
        let mut days: Vec<i64> = days.collect();
        days.sort_unstable();
        Ok(days)
    }

    /// Bytes of all files.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn size(&self) -> Result<Bytes, HistoryError> {
        size_of(&self.folder)
            .map(Bytes::new)
            .map_err(named(&self.folder))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file of the folder anew, such as the page, within the bound; `now_ns` is the wall clock.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put(&mut self, name: &str, bytes: &[u8], now_ns: i64) -> Result<(), HistoryError> {
        self.make_room(bytes.len() as u64, Calendar::day_of(now_ns))?;
        let path = self.folder.join(name);
        files::replace(&path, bytes).map_err(named(&path))
    }

    fn write(&mut self, day: i64, records: &[Record]) -> Result<(), HistoryError> {
        let lines: u64 = match &self.today {
            Some(today) if today.day == day => today.journal_bytes,
            _ => 0,
        };
        // The new run lies beside the old one for a moment. It is no longer than the old one and the journal together.
        let before = size_of(&self.day_path(day)).unwrap_or(0);
        self.make_room(before.saturating_add(lines + RUN_BYTES), day)?;
        let tables = tables();
        let name = Calendar::day_name(day);
        let (new, old) = (self.hidden("new", &name), self.hidden("old", &name));
        remove(&new).map_err(named(&new))?;
        let mut info = self.info.clone();
        let (kind, headline) = headline(records);
        info.conclude(kind, &headline);
        let mut writer = RunWriter::create(&new, &info, &tables)?;
        for (number, rows) in rows(records).iter().enumerate() {
            writer.append(number, rows)?;
        }
        writer.finish(&info)?;
        let path = self.day_path(day);
        remove(&old).map_err(named(&old))?;
        if path.exists() {
            fs::rename(&path, &old).map_err(named(&path))?;
        }
        fs::rename(&new, &path).map_err(named(&path))?;
        remove(&old).map_err(named(&old))
    }

    /// Deletes the oldest days until so many bytes fit; `kept` is the day that stays.
    fn make_room(&mut self, bytes: u64, kept: i64) -> Result<(), HistoryError> {
        let most = self.retention.disk.as_u64();
        let mut size = self.size()?.as_u64();
        let today = self.today.as_ref().map(|today| today.day);
        for day in self.days()? {
            if size.saturating_add(bytes) <= most {
                break;
            }
            if day != kept && Some(day) != today {
                info!(
                    day = Calendar::day_name(day),
                    "day deleted: the disk bound is reached"
                );
                self.delete(day)?;
                size = self.size()?.as_u64();
            }
        }
        Ok(())
    }

    fn delete(&mut self, day: i64) -> Result<(), HistoryError> {
        self.thinned.remove(&day);
        let path = self.day_path(day);
        remove(&path).map_err(named(&path))?;
        self.forget_journal(day)
    }

    fn forget_journal(&self, day: i64) -> Result<(), HistoryError> {
        let path = self.journal_path(day);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(named(&path)(error)),
            _ => Ok(()),
        }
    }

    /// What a killed process left.
    fn tidy(&mut self) -> Result<(), HistoryError> {
        let names = self.names()?;
        for name in &names {
            let path = self.folder.join(name);
            match Unfinished::of(name) {
                Some(Unfinished::Old(day)) if !self.folder.join(day).exists() => {
                    let place = self.folder.join(day);
                    fs::rename(&path, &place).map_err(named(&path))?;
                }
                Some(_) => remove(&path).map_err(named(&path))?,
                None => {}
            }
        }
        for name in names {
            let day = name
                .strip_prefix("journal-")
                .and_then(|name| name.strip_suffix(".jsonl"));
            let Some(day) = day.and_then(Calendar::day_named) else {
                continue;
            };
            if !self.journal(day)?.is_empty() {
                let records = self.day(day)?;
                self.write(day, &records)?;
                info!(
                    day = Calendar::day_name(day),
                    records = records.len(),
                    "journal of a killed process read"
                );
            }
            self.forget_journal(day)?;
        }
        Ok(())
    }

    /// The records of a journal, up to the first line that is not whole.
    fn journal(&self, day: i64) -> Result<Vec<Record>, HistoryError> {
        let path = self.journal_path(day);
        let file = match files::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(named(&path)(error)),
        };
        let mut reader = BufReader::new(file);
        let mut records = Vec::new();
        while records.len() < MOST_RECORDS {
            let mut line = Vec::new();
            let mut limited = reader.by_ref().take(LONGEST_LINE);
            limited.read_until(b'\n', &mut line).map_err(named(&path))?;
            if line.is_empty() {
                break;
            }
            let Ok(record) = serde_json::from_slice(&line) else {
                warn!(file = %path.display(), "the journal is cut; what is behind is lost");
                break;
            };
            records.push(record);
        }
        Ok(records)
    }

    fn names(&self) -> Result<Vec<String>, HistoryError> {
        let entries = fs::read_dir(&self.folder).map_err(named(&self.folder))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.collect())
    }

    fn day_path(&self, day: i64) -> PathBuf {
        self.folder.join(Calendar::day_name(day))
    }

    fn journal_path(&self, day: i64) -> PathBuf {
        let name = Calendar::day_name(day);
        self.folder.join(format!("journal-{name}.jsonl"))
    }

    fn hidden(&self, what: &str, name: &str) -> PathBuf {
        self.folder.join(format!(".{what}-{name}"))
    }
}

/// What a killed process left. Hidden files of others are not among it.
enum Unfinished<'a> {
    /// A day that was to be replaced.
    Old(&'a str),
    /// A day, a run of a day or a file that was not whole.
    New,
}

impl Unfinished<'_> {
    fn of(name: &str) -> Option<Unfinished<'_>> {
        let is_day = |day: &&str| Calendar::day_named(day).is_some();
        if let Some(day) = name.strip_prefix(".old-") {
            return Some(day).filter(is_day).map(Unfinished::Old);
        }
        let run = name.strip_prefix("..new-");
        let run = run.and_then(|run| Some(run.split_once(".part-")?.0));
        let day = name.strip_prefix(".new-").or(run).filter(is_day);
        (day.is_some() || files::is_unfinished(name)).then_some(Unfinished::New)
    }
}

/// A folder or file, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Bytes of the files of a folder; links are not followed.
fn size_of(path: &Path) -> io::Result<u64> {
    let mut sum = 0_u64;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let found = match entry.metadata() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        sum = sum.saturating_add(match found.is_dir() {
            true => size_of(&entry.path())?,
            false => found.len(),
        });
    }
    Ok(sum)
}
