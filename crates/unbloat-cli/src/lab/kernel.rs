//! `unbloat lab kernel`: the kernel in which time is virtual.

use crate::exit::Exit;
use crate::experiment::ExperimentError;
use crate::print::{self, note};
use clap::Subcommand;
use unbloat_guest::Kernel;

/// Builds, finds or removes the kernel of `lab run --virtual`: Linux out of Debian's source, as a program in virtual time
/// (User Mode Linux). It is built when it is first wanted, in about seven minutes of one CPU, and kept.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Builds it, unless it is there
    Build,
    /// Says where it is
    Path,
    /// Removes it, and those of other versions of this program
    Remove,
}

pub fn run(args: &Args) -> Result<Exit, ExperimentError> {
    match args.command {
        Command::Build => {
            let kernel = Kernel::ensure()?;
            print::line(kernel.image().display())?;
            note!("Linux {} is ready", kernel.source_version());
            Ok(Exit::Complete)
        }
        Command::Path => match Kernel::find()? {
            Some(kernel) => {
                print::line(kernel.image().display())?;
                Ok(Exit::Complete)
            }
            None => {
                note!("it is not built; run unbloat lab kernel build");
                Ok(Exit::Failed)
            }
        },
        Command::Remove => {
            for path in Kernel::remove()? {
                note!("removed {}", path.display());
            }
            Ok(Exit::Complete)
        }
    }
}
