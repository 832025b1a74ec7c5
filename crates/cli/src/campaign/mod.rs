//! `unbloat campaign`: runs the tests of a file, resumes after interruptions, and writes one report.

mod args;
mod folder;
mod hooks;
mod live;
mod measure;
mod readings;
mod report;
mod settings;
mod text;
mod work;

pub use args::Args;
pub use folder::ReadingRow;

use crate::exit::{Exit, Failure};
use crate::print::{self};
use crate::stop::stop_on_ctrl_c;
use folder::Folder;
use live::Live;
use std::path::PathBuf;
use unbloat_campaign::{Campaign, Only};
use unbloat_os::files;
use unbloat_run::runs_dir;

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let campaign = read(args)?;
    let only = args
        .only
        .iter()
        .map(|text| Only::parse(text, &campaign.axes));
    let only: Vec<Only> = only
        .collect::<Result<_, _>>()
        .map_err(|error| format!("--only: {error}"))?;
    let place = place(args);
    let folder = match args.list {
        true => Folder::look(&place),
        false => Folder::open(&place)?,
    };
    let left = campaign.left(&folder.done()?, &only);
    let mut live = Live::new(&campaign, args.token.token()?)?;
    if args.list {
        print::text(&text::order(&campaign, &left, &live))?;
        return Ok(Exit::Complete);
    }
    let mut is_cut = false;
    if !args.report && !left.is_empty() {
        hooks::consent(&campaign, args.run_commands)?;
        live.announce()?;
        let stop = stop_on_ctrl_c()?;
        folder.clean(&campaign)?;
        let now = &left[..left.len().min(args.max_runs.unwrap_or(usize::MAX))];
        let work = work::Work {
            campaign: &campaign,
            folder: &folder,
            only: &only,
            is_quiet: args.quiet,
            stop: &stop,
        };
        is_cut = work.all(now, &mut live)?;
    }
    report::make(args, &campaign, &folder)?;
    Ok(if is_cut {
        Exit::Interrupted
    } else {
        Exit::Complete
    })
}

/// Of a campaign file, in bytes.
const LONGEST: u64 = 4 << 20;

fn read(args: &Args) -> Result<Campaign, Failure> {
    let file = args.campaign.display().to_string();
    let read = files::open_any(&args.campaign).and_then(|opened| files::text(opened, LONGEST));
    let text = read.map_err(|error| format!("cannot read {file}: {error}"))?;
    Campaign::parse(&text).map_err(|error| format!("{file}: {error}").into())
}

/// The folder depends only on the file's name, so a second call continues the campaign.
fn place(args: &Args) -> PathBuf {
    let stem = args
        .campaign
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let usual = || runs_dir().join(format!("campaign-{stem}"));
    args.out.clone().unwrap_or_else(usual)
}
