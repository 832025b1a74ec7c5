//! `unbloat runs`: the runs that commands have written.

mod clean;
mod list;
mod result;

pub use list::RunsDocument;

use crate::confine::{May, confine};
use crate::exit::{Exit, Failure};
use crate::output::tell;
use crate::print::{self};
use crate::run_name::run_parser;
use crate::terminal;
use clap::Subcommand;
use std::path::PathBuf;
use unbloat_run::{RunReader, runs_dir};
use unbloat_untrusted::in_line;

/// List, show and remove the runs that other commands have written.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  # all runs, the newest last
  unbloat runs list
  # what the newest run found, and where its files are
  unbloat runs show latest
  # remove older runs
  unbloat runs clean --older-than '30 d'
Runs are in ~/.local/share/unbloat/runs ($XDG_DATA_HOME/unbloat/runs), or in $UNBLOAT_RUNS.
A RUN is a name that `list` prints, `latest`, or the path of a folder.")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    List(list::Args),
    Show(ShowArgs),
    Clean(clean::Args),
}

/// Print what a run found.
#[derive(clap::Args)]
struct ShowArgs {
    /// Run: its name, `latest`, or its folder
    #[arg(value_parser = run_parser(), default_value = "latest")]
    run: PathBuf,
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let files = match &args.command {
        Command::List(_) => (May::Read, runs_dir()),
        Command::Show(args) => (May::Read, args.run.clone()),
        Command::Clean(_) => (May::Write, runs_dir()),
    };
    confine(&[files]);
    match &args.command {
        Command::List(args) => list::run(args)?,
        Command::Show(args) => show(args)?,
        Command::Clean(args) => clean::run(args)?,
    }
    Ok(Exit::Complete)
}

fn show(args: &ShowArgs) -> Result<(), Failure> {
    // The folder itself, where the name is a link such as `latest`.
    let dir = args.run.canonicalize().unwrap_or(args.run.clone());
    let reader = RunReader::open(&dir)?;
    let info = reader.info();
    print::text(&format!("{}\n", in_line(&info.command.join(" "))))?;
    print::text(&result::text(info, terminal::width()))?;
    tell(&dir);
    Ok(())
}
