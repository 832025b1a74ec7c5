//! `unbloat lab shell`: runs any command behind an emulated path.

mod forwarding;
mod path;
mod series;
mod summary;

pub use series::PathRow;

use crate::exit::{Exit, Failure};
use crate::print::note;
use crate::recovery;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use unbloat_lab::{Shell, ShellOptions};
use unbloat_os::signal;
use unbloat_units::{Delta, Rate};

/// Run a command in a network namespace behind an emulated path (needs root).
///
/// The command reaches this host at its addresses and at $UNBLOAT_BASE ($UNBLOAT_BASE6 over IPv6). With --internet it also reaches
/// the networks beyond this host. Shells can be nested; each adds its part of the path. The changes to this host's network,
/// one device and what --internet needs, are undone when the command ends.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat lab shell --rate-down '20 Mbit/s' --rate-up '5 Mbit/s' \\
    --delay '20 ms' --queue 'droptail:1 MB' -- bash
  unbloat lab shell --delay '20 ms' -- sh -c 'ping -c 3 $UNBLOAT_BASE'
  unbloat lab shell --internet --delay '20 ms' \\
    -- curl -o /dev/null https://example.org/
  unbloat lab shell --trace-down traces/lte.down --trace-up traces/lte.up \\
    --queue codel -- ./client
  unbloat lab shell --delay '10 ms' -- unbloat lab shell --delay '10 ms' \\
    -- sh -c 'ping -c 3 $UNBLOAT_BASE'
Queues are those of scenarios: droptail, codel, fq_codel, pie, red, rem, cake, dualpi2. Keys follow a colon,
as in fq_codel:target=10ms,limit=\"500 packets\"; a value without a key is the limit.
The exit code is that of the command.")]
pub struct Args {
    /// Trace of the downlink (towards the command), in mahimahi's format or as rates in a .csv
    #[arg(long, value_name = "FILE", conflicts_with = "rate_down")]
    trace_down: Option<PathBuf>,

    /// Trace of the uplink
    #[arg(long, value_name = "FILE", conflicts_with = "rate_up")]
    trace_up: Option<PathBuf>,

    /// Downlink rate
    #[arg(long, value_name = "RATE")]
    rate_down: Option<Rate>,

    /// Uplink rate
    #[arg(long, value_name = "RATE")]
    rate_up: Option<Rate>,

    /// Delay of each direction
    #[arg(long, value_name = "SPAN")]
    delay: Option<Delta>,

    /// Queue in front of each rate or trace [default: droptail]
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,

    /// Queue of the uplink [default: that of --queue]
    #[arg(long, value_name = "QUEUE")]
    queue_up: Option<String>,

    /// Fraction of packets lost in each direction, 0 to 1
    #[arg(long, value_name = "NUMBER")]
    loss: Option<f64>,

    /// Set a key of the scenario, only of link.down and link.up (may be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Folder for the results (must not exist) [default: none]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,

    /// File to write: waits, bytes and drops of each direction per 10 ms, as CSV
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Let the command reach what this host reaches over IPv4, under this host's address (NAT)
    #[arg(long)]
    internet: bool,

    /// Do not print a summary
    #[arg(short, long)]
    quiet: bool,

    /// Command and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Opens a shell from command-line arguments (as after `unbloat lab`) without running its command.
pub fn behind(words: &[&str]) -> Result<Shell, Failure> {
    #[derive(clap::Parser)]
    struct Alone {
        #[command(flatten)]
        args: Args,
    }
    let asked = <Alone as clap::Parser>::parse_from(words);
    let (path, _) = path::of(&asked.args)?;
    Ok(Shell::open(path, asked.args.seed)?)
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
    let (path, links) = path::of(args)?;
    // Must run before the first thread.
    let _guard = recovery::guarded()?;
    signal::watch();
    let is_kept = args.out.is_some() || args.output.is_some();
    let forwarding = args.internet.then(forwarding::on).transpose()?.flatten();
    let options = ShellOptions {
        seed: args.seed,
        is_recorded: is_kept,
        reaches_out: args.internet,
        forwards_alone: forwarding.is_some(),
    };
    let shell = Shell::make(path, &options)?;
    let status = call(&shell, &args.command)?;
    let closed = shell.close()?;
    if !args.quiet {
        note!("{}", summary::text(&closed.emulated).trim_end());
    }
    if let Some(file) = &args.output {
        series::write(file, &closed)?;
    }
    if let Some(out) = &args.out {
        summary::write(args, out, &links, closed)?;
    }
    Ok(Exit::Of(code(status)))
}

/// Runs the command until it ends.
fn call(shell: &Shell, words: &[OsString]) -> Result<ExitStatus, Failure> {
    let (program, arguments) = words.split_first().expect("clap requires a command");
    let failed = |error| format!("cannot run {}: {error}", program.to_string_lossy());
    let mut command = shell.command(program)?;
    command.args(arguments);
    signal::as_usual(&mut command);
    let mut running = command.spawn().map_err(failed)?;
    let _passing = signal::PassOn::to(running.id());
    Ok(running.wait().map_err(failed)?)
}

/// The exit code as shells report it: 128 plus the signal number if a signal ended the command.
fn code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(1)
}
