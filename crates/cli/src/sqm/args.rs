//! Options of `unbloat sqm`.

use super::given::{Given, Line};
use crate::loadtest;
use clap::{Subcommand, ValueEnum};
use std::path::PathBuf;
use unbloat_sqm::Device;
use unbloat_sqm_host::Target;
use unbloat_units::Delta;

/// Plan, apply, check or remove a shaper in front of the modem.
///
/// Works on this host with tc, or on a router over ssh: OpenWrt's sqm-scripts with uci, other Linux with tc. `remove` restores the previous
/// configuration.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  # tc commands for the rates that a test measured
  unbloat sqm plan --test latest
  unbloat sqm plan --rate-down '50 Mbit/s' --rate-up '10 Mbit/s' --line atm \\
    --as uci
  # also detect ATM cells, by echo requests of many sizes
  unbloat sqm plan --test latest --sweep 192.0.2.1
  # find and apply the highest rates with low delay, by tests against box
  unbloat sqm search box --apply
  # find errors in an existing configuration
  unbloat sqm check /etc/config/sqm --test latest
  unbloat sqm apply --interface eth0 --rate-down '50 Mbit/s' \\
    --rate-up '10 Mbit/s' --confirm '30 s'
  # after each reboot too
  unbloat sqm apply --test latest --keep
  unbloat sqm apply --router root@192.168.1.1 --interface pppoe-wan \\
    --test latest
  unbloat sqm status --json
  unbloat sqm remove --interface eth0
docs/sqm.md explains how a plan is computed, and how changes are rolled back.")]
pub struct Args {
    #[command(subcommand)]
    pub job: Job,
}

#[derive(Subcommand)]
pub enum Job {
    /// Print the shaper configuration for a line, and change nothing
    Plan(PlanArgs),
    /// Find the highest rate with low delay in each direction, by short tests, and print its configuration
    Search(Box<SearchArgs>),
    /// Find errors in a configuration of sqm-scripts (exit code 4 if the shaper cannot work)
    Check(CheckArgs),
    /// Apply the shaper until it is removed or, without --keep, the system reboots
    Apply(ApplyArgs),
    /// Show the queue disciplines of an interface and their counters
    Status(PlaceArgs),
    /// Remove the shaper that `apply` installed, and the files that --keep wrote
    Remove(RemoveArgs),
}

/// How a plan is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum As {
    Tc,
    Uci,
    Networkd,
}

/// What a plan needs: rates, or a run that has them.
fn rates() -> clap::ArgGroup {
    clap::ArgGroup::new("rates")
        .args(["test", "rate_down", "rate_up"])
        .required(true)
        .multiple(true)
}

#[derive(clap::Args)]
#[command(group = rates())]
pub struct PlanArgs {
    #[command(flatten)]
    pub given: Given,

    /// Form of the plan: tc commands, OpenWrt's /etc/config/sqm, or systemd-networkd files
    #[arg(long = "as", value_name = "FORM", value_enum, default_value = "tc")]
    pub form: As,

    /// Print JSON, one object with the plan in all forms
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
#[group(skip)]
#[command(after_help = "\
Examples:
  # plan for this host, after two minutes of tests against box
  unbloat sqm search box
  unbloat sqm search box --rate-down '50 Mbit/s' --rate-up '10 Mbit/s' \\
    --line docsis --apply
  # with a video player, whose bursts require a lower rate
  unbloat sqm search box --with video --json
  unbloat sqm search box --router root@192.168.1.1
During the search the line is shaped and loaded. Afterwards the previous configuration is restored, unless --apply is given.")]
pub struct SearchArgs {
    #[command(flatten)]
    pub given: Given,

    /// Use this router instead of this host, over ssh and without a password
    #[arg(long, value_name = "[USER@]HOST")]
    pub router: Option<Target>,

    /// Target delay, the maximum added delay (p95) [default: 5 ms, or three packets on slow lines; 30 ms for a FIFO]
    #[arg(long = "target", value_name = "SPAN")]
    pub target_delay: Option<Delta>,

    /// Apply the shaper with the rates found, and keep it
    #[arg(long)]
    pub apply: bool,

    /// Form of the plan: tc commands, OpenWrt's /etc/config/sqm, or systemd-networkd files
    #[arg(long = "as", value_name = "FORM", value_enum, default_value = "tc")]
    pub form: As,

    #[command(flatten, next_help_heading = "Options of the tests")]
    pub options: loadtest::Args,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat sqm apply --interface eth0 --rate-down '50 Mbit/s' \\
    --rate-up '10 Mbit/s'
  # removed again unless Enter is pressed
  unbloat sqm apply --test latest --confirm '30 s'
  # the files that would be written
  unbloat sqm apply --test latest --keep --dry-run
  unbloat sqm apply --test latest --keep
`unbloat sqm remove` removes the shaper and the files.")]
#[command(group = rates())]
pub struct ApplyArgs {
    #[command(flatten)]
    pub given: Given,

    /// Apply it after each reboot too, by a systemd unit or OpenWrt's sqm-scripts
    #[arg(long, conflicts_with = "hold")]
    pub keep: bool,

    /// Use this router instead of this host, over ssh and without a password
    #[arg(long, value_name = "[USER@]HOST", conflicts_with_all = ["hold", "confirm"])]
    pub router: Option<Target>,

    /// Shape until Ctrl-C, then remove the shaper
    #[arg(long)]
    pub hold: bool,

    /// Remove the shaper again unless Enter is pressed within this time
    #[arg(long, value_name = "SPAN", conflicts_with = "hold")]
    pub confirm: Option<Delta>,

    /// Print what would be done, change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Print JSON, one object with the plan and its commands
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct PlaceArgs {
    /// Network interface [default: that of the default route; status on this host: all shaped interfaces]
    #[arg(long, value_name = "INTERFACE")]
    pub interface: Option<Device>,

    /// Use this router instead of this host, over ssh and without a password
    #[arg(long, value_name = "[USER@]HOST")]
    pub router: Option<Target>,

    /// Print JSON, one object
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unbloat sqm remove --interface eth0
  unbloat sqm remove --interface eth0 --dry-run
  # without the shaper until the next reboot
  unbloat sqm remove --interface eth0 --until-reboot
A file that was edited since unbloat wrote it is not removed: the command names it and stops.")]
pub struct RemoveArgs {
    #[command(flatten)]
    pub place: PlaceArgs,

    /// Leave the files of --keep in place. The next reboot applies the shaper again
    #[arg(long, conflicts_with = "router")]
    pub until_reboot: bool,

    /// Print what would be done, change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(clap::Args)]
pub struct CheckArgs {
    /// Configuration file of sqm-scripts
    #[arg(value_name = "FILE", default_value = "/etc/config/sqm")]
    pub file: PathBuf,

    /// Use this router instead of this host, and check its configuration over ssh, not a file
    #[arg(long, value_name = "[USER@]HOST", conflicts_with = "file")]
    pub router: Option<Target>,

    #[command(flatten)]
    pub line: Line,

    /// Print JSON, one object
    #[arg(long)]
    pub json: bool,
}
