//! What the user says.

use crate::sqm::Choice;
use crate::test;
use std::path::PathBuf;
use unbloat_shaper::Target;
use unbloat_sqm::Device;

/// Tests the path, proposes a cure, puts it in place, tests again, and takes it back if it did not help. Needs root.
#[derive(clap::Args)]
#[group(skip)]
#[command(after_help = "\
Examples:
  unbloat fix box                           test, show what would be changed, ask, change, test again
  unbloat fix box --test runs/latest --yes  start from a test that was run already
  unbloat fix box --dry-run                 what would be changed, and nothing more
  unbloat fix box --router root@192.168.1.1 the shaper goes to the router
  unbloat fix box --search --yes            the highest rates without delay, found by short tests, some two minutes more
The second test is the first one again, with the same options: give them to `fix` as to `test`. What stays goes by
`unbloat sqm remove`. The exit code is 4 if nothing helped, and 5 if a test is not to be trusted.")]
pub struct Args {
    #[command(flatten)]
    pub options: test::Args,

    /// The first test: the folder of its run
    #[arg(long, value_name = "RUN")]
    pub test: Option<PathBuf>,

    /// Device to shape [default: the one on the way to the server]
    #[arg(long, value_name = "DEVICE", conflicts_with = "router")]
    pub interface: Option<Device>,

    /// Put the shaper on this router, over ssh
    #[arg(long, value_name = "USER@HOST")]
    pub router: Option<Target>,

    /// The shaper on this host [default: the best that the kernel has, or our own]
    #[arg(long, value_enum, conflicts_with = "router")]
    pub qdisc: Option<Choice>,

    /// Search the shaper's rates by trials at once, not only when the first ones did not do
    #[arg(long)]
    pub search: bool,

    /// Change it without asking
    #[arg(short, long, conflicts_with = "dry_run")]
    pub yes: bool,

    /// Say what would be changed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}
