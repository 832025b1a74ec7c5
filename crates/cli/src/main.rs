//! The `unbloat` command: parses the arguments and runs a subcommand. Results go to standard output,
//! messages for people to standard error.

#![warn(clippy::disallowed_methods)]

mod analyze;
mod autorate;
mod campaign;
mod command;
mod compare;
mod demo;
mod drwa;
mod dry_run;
mod events;
mod exit;
mod experiment;
mod fix;
mod interface;
mod ip;
mod lab;
mod loadtest;
mod locate;
mod model;
mod output;
mod print;
mod recovery;
mod report;
mod route;
mod schema;
mod secret;
mod serve;
mod shape;
mod shaping;
mod sim;
mod span;
mod sqm;
mod stop;
mod token;
mod trust;
mod unit;
mod uplink;
mod watch;

use crate::print::note;
use command::Command;
use exit::Exit;

/// Each live flow holds a few small buffers, which a trace with millions of flows allocates and frees
/// all the time. With the system's allocator this took a third of the run time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    // As the first process of a guest, this runs one experiment and does not return.
    unbloat_uml::over_host(|folders| {
        let job = lab::Job::read(folders)?;
        match command::try_parse_from(&job.arguments) {
            Ok(Command::Experiment(command::Experiment::Lab(args))) => {
                lab::inside(&args, &job, folders)
            }
            Ok(_) => Err("a guest can run only `unbloat lab run`".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    });
    let (verbose, command) = command::parse();
    verbose.begin();
    let exit = match command.run() {
        Ok(exit) => exit,
        Err(_) if print::reader_is_gone() => Exit::Unread,
        Err(error) => {
            // Errors may quote a server, a router or a tool: remove control characters.
            note!("unbloat: {}", unbloat_untrusted::harmless(&error));
            Exit::Failed
        }
    };
    exit.into()
}
