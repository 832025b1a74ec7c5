//! `unbloat runs clean`.

use super::list::{Listed, listed};
use crate::exit::{Failure, cannot};
use crate::print::{self, note};
use clap::ArgGroup;
use jiff::{SignedDuration, Timestamp};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use unbloat_run::runs_dir;
use unbloat_units::{Bytes, Delta};
use unbloat_untrusted::in_line;

/// Remove runs from the folder of runs.
#[derive(clap::Args)]
#[command(group(ArgGroup::new("which").required(true).args(["runs", "older_than"])))]
pub struct Args {
    /// Runs to remove, by name
    #[arg(value_name = "NAME")]
    runs: Vec<String>,

    /// Remove the runs that are older than this
    #[arg(long, value_name = "SPAN")]
    older_than: Option<Delta>,

    /// Print what would be done, change nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let folder = runs_dir();
    let all = listed(&folder)?;
    let chosen = chosen(args, all, Timestamp::now())?;
    let sizes = chosen.iter().map(|run| run.size_bytes);
    let total = sizes.fold(0, u64::saturating_add);
    for run in &chosen {
        if !args.dry_run {
            remove(&folder, &run.name)?;
        }
        print::text(&format!("{}\n", in_line(&run.name)))?;
    }
    if !args.dry_run && !chosen.is_empty() {
        mend_latest(&folder)?;
    }
    let said = match args.dry_run {
        true => "would remove",
        false => "removed",
    };
    let plural = if chosen.len() == 1 { "" } else { "s" };
    note!("{said} {} run{plural}, {}", chosen.len(), Bytes::new(total));
    Ok(())
}

fn chosen(args: &Args, all: Vec<Listed>, now: Timestamp) -> Result<Vec<Listed>, Failure> {
    let unknown = |name: &&String| !all.iter().any(|run| run.name == **name);
    if let Some(name) = args.runs.iter().find(unknown) {
        return Err(format!("no run is named {name:?}; `unbloat runs list` lists them").into());
    }
    let is_chosen = |run: &Listed| match args.older_than {
        Some(age) => now.duration_since(run.written) > SignedDuration::from_nanos(age.as_ns()),
        None => args.runs.contains(&run.name),
    };
    Ok(all.into_iter().filter(is_chosen).collect())
}

fn remove(folder: &Path, name: &str) -> Result<(), Failure> {
    let path = folder.join(name);
    fs::remove_dir_all(&path).map_err(cannot("remove", &path))
}

/// Points `latest` to the newest run that is left.
fn mend_latest(folder: &Path) -> Result<(), Failure> {
    let latest = folder.join("latest");
    if fs::symlink_metadata(&latest).is_err() || latest.exists() {
        return Ok(());
    }
    let failed = cannot("remove", &latest);
    fs::remove_file(&latest).map_err(failed)?;
    match listed(folder)?.last() {
        Some(newest) => symlink(&newest.name, &latest).map_err(failed),
        None => Ok(()),
    }
}
