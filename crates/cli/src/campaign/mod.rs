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

use crate::exit::Exit;
use crate::output::OutputError;
use crate::print::{self, PrintError};
use crate::stop::stop_on_ctrl_c;
use folder::Folder;
use live::Live;
use std::path::PathBuf;
use unbloat_campaign::{Campaign, Only};
use unbloat_os::files;
use unbloat_run::{RunError, runs_dir};

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("cannot read {file}: {error}")]
    Read { file: String, error: std::io::Error },
    #[error("{file}: {error}")]
    Campaign {
        file: String,
        error: unbloat_experiment::scenario::toml::Error,
    },
    #[error("--only: {0}")]
    Only(String),
    #[error("{cell}: {error}")]
    Settings {
        cell: String,
        error: settings::SettingsError,
    },
    #[error("this campaign runs commands on this machine:\n{0}pass --run-commands to allow them")]
    Commands(String),
    #[error("the command {command:?} {why}; fix it, then run the campaign again")]
    Hook { command: String, why: String },
    #[error("cannot use the folder {folder}: {error}")]
    Folder {
        folder: PathBuf,
        error: std::io::Error,
    },
    #[error(transparent)]
    Token(#[from] crate::token::TokenError),
    #[error(transparent)]
    Stranger(#[from] crate::trust::StrangerError),
    #[error(
        "{} is not what a report of a campaign consists of; move it away, or give another --out",
        .0.display()
    )]
    NotOurs(PathBuf),
    #[error(
        "the folder {0} is in use by another unbloat process; wait for its end, or give another --out"
    )]
    Busy(PathBuf),
    #[error("{run}: {error}; finished runs are kept: run the same command again to continue")]
    Measure {
        run: String,
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error(
        "the next run needs {0}, and standard input is not a terminal for the prompt; set this up, then run again with --only NAME=VALUE for each"
    )]
    ByHand(String),
    #[error("cannot install the Ctrl-C handler: {0}")]
    Signal(#[from] crate::stop::SignalError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

pub fn run(args: &Args) -> Result<Exit, CommandError> {
    let campaign = read(args)?;
    let only = args
        .only
        .iter()
        .map(|text| Only::parse(text, &campaign.axes));
    let only: Vec<Only> = only.collect::<Result<_, _>>().map_err(CommandError::Only)?;
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

fn read(args: &Args) -> Result<Campaign, CommandError> {
    let file = args.campaign.display().to_string();
    let read = files::open_any(&args.campaign).and_then(|opened| files::text(opened, LONGEST));
    let text = read.map_err(|error| CommandError::Read {
        file: file.clone(),
        error,
    })?;
    Campaign::parse(&text).map_err(|error| CommandError::Campaign { file, error })
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
