//! `unbloat runs list`.

use super::result;
use crate::exit::{Failure, cannot};
use crate::print;
use crate::terminal;
use jiff::{Timestamp, tz::TimeZone};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use unbloat_run::{RUN_FILE, RunReader, find_run, runs_dir};
use unbloat_text::Tone;
use unbloat_units::Bytes;
use unbloat_untrusted::{harmless, in_line};

/// Columns for what a run found beside its name.
const LEAST_ROOM: usize = 40;

/// List the runs in the folder of runs, the newest last.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The runs in a folder.
#[derive(Serialize, JsonSchema)]
pub struct RunsDocument {
    /// The folder that they are in
    folder: PathBuf,
    /// The oldest first
    runs: Vec<Listed>,
}

/// A run in a folder of runs.
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    /// Name of its folder
    pub name: String,
    /// When it was written
    #[serde(serialize_with = "rfc_3339")]
    #[schemars(with = "String")]
    pub written: Timestamp,
    /// The command line, one argument each
    command: Vec<String>,
    /// Size of its files
    pub size_bytes: u64,
    /// What it found; null for runs that conclude nothing
    result: Option<String>,
    #[serde(skip)]
    tone: Tone,
}

fn rfc_3339<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let folder = runs_dir();
    let runs = listed(&folder)?;
    if args.json {
        let document = RunsDocument { folder, runs };
        return Ok(print::raw(&print::document(&document)?)?);
    }
    if runs.is_empty() {
        crate::print::note!("no runs in {}", folder.display());
    }
    Ok(print::text(&text(&runs, terminal::width()))?)
}

/// The finished runs in `folder`, the oldest first.
pub fn listed(folder: &Path) -> Result<Vec<Listed>, Failure> {
    let failed = cannot("read", folder);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut runs = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        // Links, as `latest` is one, are other names of runs. What was removed meanwhile is none.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            runs.extend(one(&entry.path()));
        }
    }
    runs.sort_by(|a, b| (a.written, &a.name).cmp(&(b.written, &b.name)));
    Ok(runs)
}

fn one(dir: &Path) -> Option<Listed> {
    let run = find_run(dir);
    let reader = RunReader::open(&run).ok()?;
    let written = fs::metadata(run.join(RUN_FILE)).and_then(|file| file.modified());
    let info = reader.info();
    Some(Listed {
        name: dir.file_name()?.to_str()?.to_owned(),
        written: Timestamp::try_from(written.ok()?).ok()?,
        command: info.command.clone(),
        size_bytes: size_bytes(dir).unwrap_or(0),
        result: result::line(info),
        tone: result::tone(info),
    })
}

/// Of all files in a folder, of which one may claim half of what 64 bits can say. Links count as nothing and are not followed.
fn size_bytes(dir: &Path) -> io::Result<u64> {
    let mut total = 0_u64;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            total = total.saturating_add(size_bytes(&entry.path())?);
        } else if kind.is_file() {
            total = total.saturating_add(entry.metadata()?.len());
        }
    }
    Ok(total)
}

fn text(runs: &[Listed], width: usize) -> String {
    let widest = runs.iter().map(|run| run.name.chars().count()).max();
    let widest = widest.unwrap_or(0);
    let line = |run: &Listed| {
        let at = run.written.to_zoned(TimeZone::system());
        let size = Bytes::new(run.size_bytes).to_string();
        let name = &run.name;
        let run_is = format!(
            "{name:widest$}  {}  {size:>9}",
            at.strftime("%Y-%m-%d %H:%M")
        );
        let run_is = in_line(&run_is);
        let found = harmless(run.result.as_deref().unwrap_or("-"));
        // On a line of its own where little of it would be seen.
        let (gap, room) = match width.saturating_sub(unbloat_text::width(&run_is) + 2) {
            room if room < LEAST_ROOM => ("\n    ", width.saturating_sub(4)),
            room => ("  ", room),
        };
        let found = console::truncate_str(&found, room, "…");
        let found = match run.result {
            Some(_) => run.tone.paint(&found),
            None => found.into_owned(),
        };
        format!("{run_is}{gap}{found}\n")
    };
    runs.iter().map(line).collect()
}
