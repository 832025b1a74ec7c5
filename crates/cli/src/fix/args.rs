//! Options of `unbloat fix`.

use crate::loadtest;
use crate::run_name::run_parser;
use crate::sqm::Choice;
use std::path::PathBuf;
use unbloat_sqm::Device;
use unbloat_sqm_host::Target;

/// Test, apply a fix, test again, undo what did not help (needs root).
#[derive(clap::Args)]
#[group(skip)]
#[command(after_help = "\
Examples:
  # test, show the change, ask, apply, test again
  unbloat fix box
  # start from an earlier test, apply without asking
  unbloat fix box --test latest --yes
  # test, show the change, change nothing
  unbloat fix box --dry-run
  # install the shaper on a router, over ssh
  unbloat fix box --router root@192.168.1.1
  # search for the highest rates without delay (about two minutes more)
  unbloat fix box --search --yes
  # if it helped, apply it after each reboot too
  unbloat fix box --keep
Both tests use the options of `unbloat test` that are given to `fix`. `unbloat sqm remove` removes a shaper that was kept.
It also removes the files of --keep.
Exit codes: 0 it helped or nothing needs a fix, 1 failed, 2 usage, 4 nothing helped, 5 a test is not valid, 130 stopped by Ctrl-C")]
pub struct Args {
    /// Use this run of `unbloat test`, instead of the first test
    #[arg(long, value_name = "RUN", value_parser = run_parser())]
    pub test: Option<PathBuf>,

    /// Network interface to shape [default: that of the route to the server]
    #[arg(long, value_name = "INTERFACE", conflicts_with = "router")]
    pub interface: Option<Device>,

    /// Use this router instead of this host, over ssh and without a password
    #[arg(long, value_name = "[USER@]HOST")]
    pub router: Option<Target>,

    /// Queue discipline of the shaper [default: cake or fq-codel if the kernel has it, else own-cake]
    #[arg(long, value_name = "QDISC", value_enum, conflicts_with = "router")]
    pub qdisc: Option<Choice>,

    /// Search for the shaper's rates from the start, not only if the first rates did not help
    #[arg(long)]
    pub search: bool,

    /// Apply it after each reboot too, by a systemd unit or OpenWrt's sqm-scripts
    #[arg(long)]
    pub keep: bool,

    /// Undo the fix after the second test, whatever it shows
    #[arg(long, hide = true)]
    pub passing: bool,

    /// Apply without asking
    #[arg(short, long, conflicts_with = "dry_run")]
    pub yes: bool,

    /// Print what would be done, change nothing, but test the path once
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten, next_help_heading = "Options of both tests")]
    pub options: loadtest::Args,
}
