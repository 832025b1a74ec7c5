//! What is asked for.

use super::given::{Given, Line};
use crate::test;
use clap::{Subcommand, ValueEnum};
use std::path::PathBuf;
use unbloat_shaper::Target;
use unbloat_sqm::Device;
use unbloat_units::Delta;

/// Moves the queue from the modem into a shaper that keeps it short: planned from what was measured, put in place, taken away.
///
/// On this host by tc, or on a router over ssh: OpenWrt's sqm-scripts by uci, other Linux by tc. The host is as before after `remove`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat sqm plan --test runs/latest                     95 % of what a test measured, as tc commands
  unbloat sqm plan --down-bps 50M --up-bps 10M --line atm --format uci
  unbloat sqm plan --test runs/latest --sweep 192.0.2.1   and the line's cells by echo requests of many sizes
  unbloat sqm search box --apply                          the highest rates without delay, found by trials against box
  unbloat sqm check /etc/config/sqm --test runs/latest    what is wrong with an existing configuration
  unbloat sqm apply --interface eth0 --down-bps 50M --up-bps 10M --confirm 30s
  unbloat sqm apply --router root@192.168.1.1 --interface pppoe-wan --test runs/latest
  unbloat sqm status --json
  unbloat sqm remove --interface eth0
docs/sqm.md tells what is planned and why, and how a change is taken back.")]
pub struct Args {
    #[command(subcommand)]
    pub job: Job,
}

#[derive(Subcommand)]
pub enum Job {
    /// Tells the shaper that a line needs; changes nothing
    Plan(PlanArgs),
    /// Finds the highest rate at which delay stays low, by short tests through the shaper, each way; then tells its plan
    Search(Box<SearchArgs>),
    /// Says what is wrong with a configuration of sqm-scripts; exit code 4 if the shaper cannot work
    Check(CheckArgs),
    /// Puts the shaper in place, until it is removed or the next boot
    Apply(ApplyArgs),
    /// Tells what stands on a device, and what it has counted
    Status(PlaceArgs),
    /// Takes away what apply put in place
    Remove(PlaceArgs),
}

/// In which words a plan is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Tc,
    Uci,
    Networkd,
}

#[derive(clap::Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub given: Given,

    /// As tc commands, OpenWrt's /etc/config/sqm, or files of systemd-networkd
    #[arg(long, value_enum, default_value = "tc")]
    pub format: Format,

    /// Print the plan in all words as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
#[group(skip)]
#[command(after_help = "\
Examples:
  unbloat sqm search box                          the plan for this host, after some two minutes of tests against unbloat serve on box
  unbloat sqm search box --down-bps 50M --up-bps 10M --line docsis --apply
  unbloat sqm search box --with video --json      beside a player, whose bursts ask for a lower rate; trials and plan as JSON
  unbloat sqm search box --router root@192.168.1.1
While it searches the line is shaped and loaded; afterwards all is as before, unless --apply leaves the shaper there.")]
pub struct SearchArgs {
    #[command(flatten)]
    pub options: test::Args,

    #[command(flatten)]
    pub given: Given,

    /// A router that ssh reaches without a password, in place of this host
    #[arg(long, value_name = "[USER@]HOST")]
    pub router: Option<Target>,

    /// Added delay (p95) that is low enough [default: 5 ms, or three packets on slow lines; 30 ms for a FIFO]
    #[arg(long = "target", value_name = "TIME")]
    pub low_enough: Option<Delta>,

    /// Leave the shaper there with the rates that were found
    #[arg(long)]
    pub apply: bool,

    /// As tc commands, OpenWrt's /etc/config/sqm, or files of systemd-networkd
    #[arg(long, value_enum, default_value = "tc")]
    pub format: Format,
}

#[derive(clap::Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    pub given: Given,

    /// A router that ssh reaches without a password, in place of this host
    #[arg(long, value_name = "[USER@]HOST", conflicts_with_all = ["hold", "confirm"])]
    pub router: Option<Target>,

    /// Shape until Ctrl-C
    #[arg(long)]
    pub hold: bool,

    /// Take it away again unless Enter is pressed within this time
    #[arg(long, value_name = "TIME", conflicts_with = "hold")]
    pub confirm: Option<Delta>,

    /// Print the commands that would be run; change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Print the plan and its commands as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct PlaceArgs {
    /// The device [default for remove and a router's status: that of the default route]
    #[arg(long, value_name = "NAME")]
    pub interface: Option<Device>,

    /// A router that ssh reaches without a password, in place of this host
    #[arg(long, value_name = "[USER@]HOST")]
    pub router: Option<Target>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct CheckArgs {
    /// The configuration
    #[arg(value_name = "FILE", default_value = "/etc/config/sqm")]
    pub file: PathBuf,

    /// The configuration of a router that ssh reaches, in place of a file
    #[arg(long, value_name = "[USER@]HOST", conflicts_with = "file")]
    pub router: Option<Target>,

    #[command(flatten)]
    pub line: Line,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
