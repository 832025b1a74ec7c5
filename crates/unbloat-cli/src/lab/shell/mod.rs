//! `unbloat lab shell`: any command behind an emulated path.

mod path;
mod series;
mod signals;
mod summary;

pub use series::table;

use crate::exit::Exit;
use crate::output::OutputError;
use crate::print::note;
use crate::recovery;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use unbloat_lab::{LabError, Shell};
use unbloat_undo::UndoError;

/// Runs a command in a network of its own, whose only way out is an emulated path to this one. Shells nest: each adds its part
/// of the path. Needs root.
///
/// Inside, this network is reached at its own addresses and at $UNBLOAT_BASE; what lies beyond it is not. Nothing in this
/// network is changed but for one device, which goes when the command ends.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat lab shell --rate-down 20mbit --rate-up 5mbit --delay 20ms --queue droptail:1MB -- bash
  unbloat lab shell --delay 20ms -- sh -c 'ping -c 3 $UNBLOAT_BASE'
  unbloat lab shell --down traces/lte.down --up traces/lte.up --queue codel -- ./client
  unbloat lab shell --delay 10ms -- unbloat lab shell --delay 10ms -- sh -c 'ping -c 3 $UNBLOAT_BASE'
Queues are those of scenarios: droptail, codel, fq_codel, pie, red, rem, cake, dualpi2. Behind a colon stand
their keys, as in fq_codel:target=10ms,limit=\"500 packets\"; a value alone is the limit.
The exit code is the command's.")]
pub struct Args {
    /// Trace of the downlink, towards the command: mahimahi's, or rates as .csv
    #[arg(long, value_name = "TRACE", conflicts_with = "rate_down")]
    down: Option<PathBuf>,

    /// Trace of the uplink
    #[arg(long, value_name = "TRACE", conflicts_with = "rate_up")]
    up: Option<PathBuf>,

    /// Rate of the downlink, like 20mbit or "20 Mbit/s"
    #[arg(long, value_name = "RATE")]
    rate_down: Option<String>,

    /// Rate of the uplink
    #[arg(long, value_name = "RATE")]
    rate_up: Option<String>,

    /// Delay of each direction
    #[arg(long, value_name = "TIME")]
    delay: Option<String>,

    /// Queue in front of each rate or trace [default: droptail]
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,

    /// Queue of the uplink, where it is another
    #[arg(long, value_name = "QUEUE")]
    up_queue: Option<String>,

    /// Share of packets that each direction loses, from 0 to 1
    #[arg(long, value_name = "SHARE")]
    loss: Option<f64>,

    /// Any key of a scenario's link.down or link.up. May be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Seed of what is random on the path
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Keep what came of it in this folder; it must not exist
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write what the path did in every 10 ms to this file, as CSV: waits, bytes and drops of each direction
    #[arg(long, value_name = "FILE")]
    series: Option<PathBuf>,

    /// Report what the firmware of the uplink holds on this socket, for `unbloat uplink`
    #[arg(long, value_name = "SOCKET")]
    modem: Option<PathBuf>,

    /// No summary
    #[arg(short, long)]
    quiet: bool,

    /// The command and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    #[error(transparent)]
    Path(#[from] unbloat_scenario::text::Error),
    #[error("--set takes keys of the path only: link.down. and link.up.")]
    OnlyLink,
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error("cannot run {command}: {error}")]
    Command {
        command: String,
        error: std::io::Error,
    },
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(transparent)]
    Undo(#[from] UndoError),
}

/// A network behind the path that such words ask for, as after `unbloat lab`; its command is not run.
pub fn behind(words: &[&str]) -> Result<Shell, ShellError> {
    #[derive(clap::Parser)]
    struct Alone {
        #[command(flatten)]
        args: Args,
    }
    let asked = <Alone as clap::Parser>::parse_from(words);
    let (path, _) = path::of(&asked.args)?;
    Ok(Shell::open(path, asked.args.seed)?)
}

pub fn run(args: &Args) -> Result<Exit, ShellError> {
    let (path, links) = path::of(args)?;
    // Before there are threads.
    let _guard = recovery::guarded()?;
    signals::watch();
    let is_kept = args.out.is_some() || args.series.is_some();
    let shell = Shell::make(path, args.seed, is_kept, args.modem.as_deref())?;
    let status = call(&shell, &args.command)?;
    let closed = shell.close()?;
    if !args.quiet {
        note!("{}", summary::text(&links, &closed.emulated).trim_end());
    }
    if let Some(file) = &args.series {
        series::write(file, &closed)?;
    }
    if let Some(out) = &args.out {
        summary::write(args, out, &links, closed)?;
    }
    Ok(Exit::Of(code(status)))
}

/// Runs the command until it ends.
fn call(shell: &Shell, words: &[OsString]) -> Result<ExitStatus, ShellError> {
    let (program, arguments) = words.split_first().expect("clap requires a command");
    let failed = |error| ShellError::Command {
        command: program.to_string_lossy().into_owned(),
        error,
    };
    let mut command = shell.command(program)?;
    command.args(arguments);
    signals::as_usual(&mut command);
    let mut running = command.spawn().map_err(failed)?;
    let _passing = signals::PassOn::to(running.id());
    running.wait().map_err(failed)
}

/// As shells tell it: 128 and the number of the signal that ended it.
fn code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(1)
}
