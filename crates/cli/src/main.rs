//! The `unbloat` command: parses the arguments and runs a subcommand. Results go to standard output,
//! messages for people to standard error.

#![warn(clippy::disallowed_methods)]

mod analyze;
mod command;
mod compare;
mod events;
mod exit;
mod model;
mod output;
mod print;
mod report;
mod schema;
mod stop;

#[cfg(feature = "full")]
mod autorate;
#[cfg(feature = "full")]
mod campaign;
#[cfg(feature = "full")]
mod cluster;
#[cfg(feature = "full")]
mod demo;
#[cfg(feature = "full")]
mod drwa;
#[cfg(feature = "full")]
mod dry_run;
#[cfg(feature = "full")]
mod experiment;
#[cfg(feature = "full")]
mod fix;
#[cfg(feature = "full")]
mod interface;
#[cfg(feature = "full")]
mod ip;
#[cfg(feature = "full")]
mod lab;
#[cfg(feature = "full")]
mod loadtest;
#[cfg(feature = "full")]
mod locate;
#[cfg(feature = "full")]
mod paper;
#[cfg(feature = "full")]
mod recovery;
#[cfg(feature = "full")]
mod route;
#[cfg(feature = "full")]
mod secret;
#[cfg(feature = "full")]
mod serve;
#[cfg(feature = "full")]
mod shape;
#[cfg(feature = "full")]
mod shaping;
#[cfg(feature = "full")]
mod sim;
#[cfg(feature = "full")]
mod span;
#[cfg(feature = "full")]
mod sqm;
#[cfg(feature = "full")]
mod token;
#[cfg(feature = "full")]
mod trust;
#[cfg(feature = "full")]
mod unit;
#[cfg(feature = "full")]
mod uplink;
#[cfg(feature = "full")]
mod watch;

use crate::print::note;
use exit::Exit;

/// Each live flow holds a few small buffers, which a trace with millions of flows allocates and frees
/// all the time. With the system's allocator this took a third of the run time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    #[cfg(feature = "full")]
    run_as_guest();
    let (verbose, command) = command::parse();
    verbose.begin();
    let exit = match command.run() {
        Ok(exit) => exit,
        // `| head` has what it wanted.
        Err(_) if print::reader_is_gone() => Exit::Complete,
        Err(error) => {
            // Errors may quote a server, a router or a tool: remove control characters.
            note!("unbloat: {}", unbloat_untrusted::harmless(&error));
            Exit::Failed
        }
    };
    exit.into()
}

/// As the first process of a guest, this runs one experiment and does not return.
#[cfg(feature = "full")]
fn run_as_guest() {
    use command::{Command, Experiment};
    unbloat_uml::over_host(|folders| {
        let job = lab::Job::read(folders)?;
        match command::try_parse_from(&job.arguments) {
            Ok(Command::Experiment(Experiment::Lab(args))) => lab::inside(&args, &job, folders),
            Ok(_) => Err("a guest can run only `unbloat lab run`".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    });
}
