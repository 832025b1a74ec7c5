//! The `unbloat` command: parses the arguments and runs a subcommand. Results go to standard output,
//! messages for people to standard error. The programs that call [`main`] have nothing of their own.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod command;
mod events;
mod exit;
mod kernel;
#[cfg(feature = "router")]
mod metrics;
mod print;
mod stop;
mod terminal;

#[cfg(feature = "runs")]
mod analyze;
#[cfg(feature = "runs")]
mod compare;
#[cfg(feature = "confined")]
#[cfg_attr(
    not(feature = "full"),
    allow(dead_code, reason = "small builds have fewer readers")
)]
mod confine;
#[cfg(feature = "runs")]
mod model;
#[cfg(feature = "runs")]
mod output;
#[cfg(feature = "runs")]
mod report;
#[cfg(feature = "runs")]
mod runs;
#[cfg(feature = "runs")]
mod schema;

#[cfg(any(feature = "runs", feature = "router"))]
mod run_name;

#[cfg(feature = "router")]
mod autorate;
#[cfg(feature = "router")]
mod doctor;
#[cfg(feature = "router")]
mod drwa;
#[cfg(feature = "router")]
mod dry_run;
#[cfg(feature = "router")]
mod fix;
#[cfg(feature = "router")]
mod interface;
#[cfg(feature = "router")]
mod ip;
#[cfg(feature = "router")]
mod keep;
#[cfg(feature = "router")]
mod known_servers;
#[cfg(feature = "router")]
mod loadtest;
#[cfg(feature = "router")]
mod locate;
#[cfg(feature = "router")]
mod nearby;
#[cfg(feature = "router")]
mod recovery;
#[cfg(feature = "router")]
mod route;
#[cfg(feature = "router")]
mod secret;
#[cfg(feature = "router")]
mod serve;
#[cfg(feature = "router")]
mod shape;
#[cfg(feature = "router")]
mod shaping;
#[cfg(feature = "router")]
mod span;
#[cfg(feature = "router")]
mod sqm;
#[cfg(feature = "router")]
mod token;
#[cfg(feature = "router")]
mod trust;
#[cfg(feature = "router")]
mod unit;
#[cfg(feature = "router")]
mod uplink;

#[cfg(feature = "full")]
mod campaign;
#[cfg(feature = "full")]
mod cluster;
#[cfg(feature = "full")]
mod config;
#[cfg(feature = "full")]
mod demo;
#[cfg(feature = "full")]
mod experiment;
#[cfg(feature = "full")]
mod lab;
#[cfg(feature = "full")]
mod monitor;
#[cfg(feature = "full")]
mod pages;
#[cfg(feature = "full")]
mod paper;
#[cfg(feature = "full")]
mod sim;
#[cfg(feature = "full")]
mod watch;

use crate::print::note;
use exit::Exit;
use unbloat_os::heap::Counted;

/// Each live flow holds a few small buffers, which a trace with millions of flows allocates and frees
/// all the time. With the system's allocator this took a third of the run time.
#[cfg(feature = "runs")]
#[global_allocator]
static ALLOCATOR: Counted<mimalloc::MiMalloc> = Counted(mimalloc::MiMalloc);

#[cfg(not(feature = "runs"))]
#[global_allocator]
static ALLOCATOR: Counted<std::alloc::System> = Counted(std::alloc::System);

/// Returns to the kernel what is free on the calling thread.
#[cfg(feature = "router")]
pub(crate) fn give_back() {
    #[cfg(feature = "runs")]
    // SAFETY: it takes free pages from the allocator's own lists.
    unsafe {
        unsafe extern "C" {
            fn mi_collect(force: bool);
        }
        mi_collect(true);
    }
}

/// The program, with the arguments of this process; returns its exit code.
pub fn main() -> u8 {
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
            note!(
                "unbloat: {}",
                unbloat_untrusted::harmless(&error.to_string())
            );
            match error.is::<exit::Usage>() {
                true => Exit::Usage,
                false => Exit::Failed,
            }
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
