//! The `unbloat` command: parses the arguments and runs a subcommand. Results go to standard output,
//! messages for people to standard error.

mod analyze;
mod autorate;
mod campaign;
mod compare;
mod demo;
mod drwa;
mod exit;
mod experiment;
mod fix;
mod lab;
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
mod sqm;
mod stop;
mod test;
mod token;
mod unit;
mod uplink;
mod watch;

use crate::print::note;
use clap::{Parser, Subcommand};
use exit::Exit;

/// Each live flow holds a few small buffers, which a trace with millions of flows allocates and frees
/// all the time. With the system's allocator this took a third of the run time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Find, explain and cure bufferbloat.
#[derive(Parser)]
#[command(name = "unbloat", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Analyze(Box<analyze::Args>),
    Autorate(Box<autorate::Args>),
    Campaign(Box<campaign::Args>),
    Compare(compare::Args),
    Demo(demo::Args),
    Drwa(Box<drwa::Args>),
    Fix(Box<fix::Args>),
    Lab(lab::Args),
    Locate(Box<locate::Args>),
    Model(Box<model::Args>),
    Report(report::Args),
    Schema(schema::Args),
    Serve(Box<serve::Args>),
    Shape(Box<shape::Args>),
    Sim(Box<sim::Args>),
    Sqm(Box<sqm::Args>),
    Test(Box<test::Args>),
    Uplink(uplink::Args),
    Watch(watch::Args),
}

fn main() -> std::process::ExitCode {
    // As the first process of a guest, this runs one experiment and does not return.
    unbloat_guest::over_host(|folders| {
        let job = lab::Job::read(folders)?;
        match Cli::try_parse_from(&job.arguments) {
            Ok(Cli {
                command: Command::Lab(args),
            }) => lab::inside(&args, &job, folders),
            Ok(_) => Err("a guest can run only `unbloat lab run`".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    });
    let exit = match Cli::parse().command {
        Command::Analyze(args) => analyze::run(&args).map_err(|e| e.to_string()),
        Command::Autorate(args) => autorate::run(&args).map_err(|e| e.to_string()),
        Command::Campaign(args) => campaign::run(&args).map_err(|e| e.to_string()),
        Command::Compare(args) => compare::run(&args).map_err(|e| e.to_string()),
        Command::Demo(args) => demo::run(&args).map_err(|e| e.to_string()),
        Command::Drwa(args) => drwa::run(&args).map_err(|e| e.to_string()),
        Command::Lab(args) => lab::run(&args).map_err(|e| e.to_string()),
        Command::Fix(args) => fix::run(&args).map_err(|e| e.to_string()),
        Command::Locate(args) => locate::run(&args).map_err(|e| e.to_string()),
        Command::Model(args) => model::run(&args).map_err(|e| e.to_string()),
        Command::Report(args) => report::run(&args).map_err(|e| e.to_string()),
        Command::Schema(args) => schema::run(&args).map_err(|e| e.to_string()),
        Command::Serve(args) => serve::run(&args).map_err(|e| e.to_string()),
        Command::Shape(args) => shape::run(&args).map_err(|e| e.to_string()),
        Command::Sim(args) => sim::run(&args).map_err(|e| e.to_string()),
        Command::Sqm(args) => sqm::run(&args).map_err(|e| e.to_string()),
        Command::Test(args) => test::run(&args).map_err(|e| e.to_string()),
        Command::Uplink(args) => uplink::run(&args).map_err(|e| e.to_string()),
        Command::Watch(args) => watch::run(&args).map_err(|e| e.to_string()),
    };
    let exit = match exit {
        Ok(exit) => exit,
        Err(_) if print::reader_is_gone() => Exit::Unread,
        Err(error) => {
            // Errors may quote a server, a router or a tool: remove control characters.
            note!("unbloat: {}", unbloat_said::harmless(&error));
            Exit::Failed
        }
    };
    exit.into()
}
