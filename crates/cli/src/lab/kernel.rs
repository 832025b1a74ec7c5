//! `unbloat lab kernel`: manages the kernel that runs in virtual time.

use crate::exit::{Exit, Failure};
use crate::print::{self, note};
use clap::Subcommand;
use unbloat_uml::Kernel;

/// Build, find or remove the kernel of `lab run --virtual`.
///
/// The kernel is Linux from Debian's source, built as User Mode Linux with virtual time. `lab run --virtual` builds it at first use,
/// which takes about seven minutes on one CPU, and keeps it.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the kernel, unless it exists
    Build,
    /// Print the path of the kernel
    Path,
    /// Remove the kernel, also those of other versions of unbloat
    Remove,
}

pub fn run(args: &Args) -> Result<Exit, Failure> {
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
                note!("the kernel is not built; run `unbloat lab kernel build`");
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
