//! The tree of commands, grouped by what the user wants.

use crate::events::VerboseArgs;
use crate::exit::{Exit, Failure};
use crate::print::note;
#[cfg(feature = "runs")]
use crate::{analyze, compare, model, report, runs, schema};
#[cfg(feature = "router")]
use crate::{autorate, doctor, drwa, fix, loadtest, locate, serve, shape, sqm, uplink};
#[cfg(feature = "full")]
use crate::{campaign, cluster, config, demo, lab, monitor, pages, paper, sim, watch};
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::fmt::Write;

/// Find, explain and cure bufferbloat.
#[derive(Parser)]
#[command(name = "unbloat", version, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    verbose: VerboseArgs,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    #[cfg(feature = "runs")]
    #[command(flatten)]
    Observe(Observe),
    #[cfg(feature = "router")]
    #[command(flatten)]
    TestPath(TestPath),
    #[cfg(feature = "runs")]
    #[command(flatten)]
    Experiment(Experiment),
    #[cfg(feature = "router")]
    #[command(flatten)]
    Cure(Cure),
}

#[cfg(feature = "runs")]
#[derive(Subcommand)]
pub enum Observe {
    Analyze(Box<analyze::Args>),
    #[cfg(feature = "full")]
    Watch(watch::Args),
    #[cfg(feature = "full")]
    Monitor(Box<monitor::Args>),
    Runs(runs::Args),
    Report(report::Args),
    Compare(compare::Args),
    #[cfg(feature = "full")]
    Cluster(cluster::Args),
    Schema(schema::Args),
    #[cfg(feature = "full")]
    Pages(pages::Args),
}

#[cfg(feature = "router")]
#[derive(Subcommand)]
pub enum TestPath {
    Test(Box<loadtest::Args>),
    Locate(Box<locate::Args>),
    #[cfg(feature = "full")]
    Campaign(Box<campaign::Args>),
    Serve(Box<serve::Args>),
    Doctor(doctor::Args),
}

#[cfg(feature = "runs")]
#[derive(Subcommand)]
pub enum Experiment {
    #[cfg(feature = "full")]
    Sim(Box<sim::Args>),
    #[cfg(feature = "full")]
    Lab(lab::Args),
    Model(Box<model::Args>),
    #[cfg(feature = "full")]
    Paper(Box<paper::Args>),
    #[cfg(feature = "full")]
    Demo(demo::Args),
}

#[cfg(feature = "router")]
#[derive(Subcommand)]
pub enum Cure {
    Fix(Box<fix::Args>),
    Sqm(Box<sqm::Args>),
    Shape(Box<shape::Args>),
    Autorate(Box<autorate::Args>),
    Uplink(uplink::Args),
    Drwa(Box<drwa::Args>),
}

/// Parses the arguments of this process; prints help and usage errors, and exits.
pub fn parse() -> (VerboseArgs, Command) {
    let matches = with_defaults()
        .try_get_matches()
        .unwrap_or_else(|mut error| {
            say_what_prints_json(&mut error);
            let _ = error.print();
            if error.kind() == ErrorKind::InvalidSubcommand && cfg!(not(feature = "full")) {
                note!("\nThis build does not have all commands; docs/install.md names the builds.");
            }
            std::process::exit(error.exit_code())
        });
    match Cli::from_arg_matches(&matches) {
        Ok(parsed) => (parsed.verbose, parsed.command),
        Err(error) => error.format(&mut tree()).exit(),
    }
}

/// Tables are printed as JSON by `--format jsonl`; documents by `--json`.
fn say_what_prints_json(error: &mut clap::Error) {
    let is_json = matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(arg)) if arg == "--json");
    if !is_json {
        return;
    }
    let mut command = &tree();
    for word in std::env::args().skip(1) {
        command = command.find_subcommand(&word).unwrap_or(command);
    }
    let has_tables = command
        .get_arguments()
        .any(|arg| arg.get_long() == Some("format"));
    let tip = match has_tables {
        true => "`--format jsonl` prints a table as JSON",
        false => "this command prints no JSON",
    };
    let tips = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
    error.insert(ContextKind::Suggested, tips);
}

/// The tree, with the defaults of configuration files.
#[cfg(feature = "full")]
fn with_defaults() -> clap::Command {
    config::with_defaults(tree(), &config::files()).unwrap_or_else(|error| {
        // It says what is wrong with the file, among other things.
        if std::env::args().skip(1).any(|word| word == "doctor") {
            return tree();
        }
        let told = error.to_string();
        note!("unbloat: {}", unbloat_untrusted::harmless(&told));
        std::process::exit(2);
    })
}

/// Small builds read no configuration files.
#[cfg(not(feature = "full"))]
fn with_defaults() -> clap::Command {
    tree()
}

#[cfg(feature = "full")]
pub fn try_parse_from(words: &[String]) -> Result<Command, clap::Error> {
    Command::from_arg_matches(&tree().try_get_matches_from(words)?)
}

/// All commands and options. Clap has no headings for subcommands, so the help lists them by group here.
pub fn tree() -> clap::Command {
    let tree = Cli::command();
    let header = *tree.get_styles().get_header();
    let literal = *tree.get_styles().get_literal();
    let all = groups();
    let names = all.iter().flat_map(|(_, group)| group.get_subcommands());
    let widest = names.map(|command| command.get_name().len()).max();
    let mut help = String::from(
        "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n\
         To begin: `unbloat serve` on another host, then `unbloat test HOST` here.\n",
    );
    for (heading, group) in &all {
        let _ = writeln!(help, "\n{header}{heading}:{header:#}");
        for command in group.get_subcommands() {
            let name = command.get_name();
            let pad = widest.unwrap_or(0) - name.len();
            let about = command
                .get_about()
                .map_or(String::new(), StyledStr::to_string);
            let _ = writeln!(help, "  {literal}{name}{literal:#}{:pad$}  {about}", "");
        }
    }
    let _ = write!(
        help,
        "\n{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    tree.help_template(StyledStr::from(help))
        .after_help("`unbloat COMMAND --help` shows the options of a command, and examples.")
}

/// The groups of [`Command`], with their headings.
fn groups() -> Vec<(&'static str, clap::Command)> {
    let root = || clap::Command::new("unbloat");
    vec![
        #[cfg(feature = "runs")]
        ("Observe", Observe::augment_subcommands(root())),
        #[cfg(feature = "router")]
        ("Test a path", TestPath::augment_subcommands(root())),
        #[cfg(feature = "runs")]
        ("Experiment", Experiment::augment_subcommands(root())),
        #[cfg(feature = "router")]
        ("Cure", Cure::augment_subcommands(root())),
    ]
}

impl Command {
    pub fn run(&self) -> Result<Exit, Failure> {
        match self {
            #[cfg(feature = "runs")]
            Command::Observe(command) => command.run(),
            #[cfg(feature = "router")]
            Command::TestPath(command) => command.run(),
            #[cfg(feature = "runs")]
            Command::Experiment(command) => command.run(),
            #[cfg(feature = "router")]
            Command::Cure(command) => command.run(),
        }
    }
}

#[cfg(feature = "runs")]
impl Observe {
    fn run(&self) -> Result<Exit, Failure> {
        match self {
            Observe::Analyze(args) => analyze::run(args),
            #[cfg(feature = "full")]
            Observe::Watch(args) => watch::run(args),
            #[cfg(feature = "full")]
            Observe::Monitor(args) => monitor::run(args),
            Observe::Runs(args) => runs::run(args),
            Observe::Report(args) => report::run(args),
            Observe::Compare(args) => compare::run(args),
            #[cfg(feature = "full")]
            Observe::Cluster(args) => cluster::run(args),
            Observe::Schema(args) => schema::run(args),
            #[cfg(feature = "full")]
            Observe::Pages(args) => pages::run(args),
        }
    }
}

#[cfg(feature = "router")]
impl TestPath {
    fn run(&self) -> Result<Exit, Failure> {
        match self {
            TestPath::Test(args) => loadtest::run(args),
            TestPath::Locate(args) => locate::run(args),
            #[cfg(feature = "full")]
            TestPath::Campaign(args) => campaign::run(args),
            TestPath::Serve(args) => serve::run(args),
            TestPath::Doctor(args) => doctor::run(args),
        }
    }
}

#[cfg(feature = "runs")]
impl Experiment {
    fn run(&self) -> Result<Exit, Failure> {
        match self {
            #[cfg(feature = "full")]
            Experiment::Sim(args) => sim::run(args),
            #[cfg(feature = "full")]
            Experiment::Lab(args) => lab::run(args),
            Experiment::Model(args) => model::run(args),
            #[cfg(feature = "full")]
            Experiment::Paper(args) => paper::run(args),
            #[cfg(feature = "full")]
            Experiment::Demo(args) => demo::run(args),
        }
    }
}

#[cfg(feature = "router")]
impl Cure {
    fn run(&self) -> Result<Exit, Failure> {
        match self {
            Cure::Fix(args) => fix::run(args),
            Cure::Sqm(args) => sqm::run(args),
            Cure::Shape(args) => shape::run(args),
            Cure::Autorate(args) => autorate::run(args),
            Cure::Uplink(args) => uplink::run(args),
            Cure::Drwa(args) => drwa::run(args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let all = groups();
        let grouped = all.iter().flat_map(|(_, group)| group.get_subcommands());
        let grouped: Vec<&str> = grouped.map(clap::Command::get_name).collect();
        let cli = Cli::command();
        let shown = cli
            .get_subcommands()
            .filter(|command| !command.is_hide_set());
        let known: Vec<&str> = shown.map(clap::Command::get_name).collect();
        assert_eq!(grouped, known);
    }
}

// The texts of all commands.
#[cfg(all(test, feature = "full"))]
mod examples_tests;
#[cfg(test)]
mod grammar_tests;
#[cfg(all(test, feature = "full"))]
mod help_tests;
