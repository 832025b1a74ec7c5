//! What commands changed on this host, so that all of it is undone.
//!
//! A command that changes queue disciplines, links, settings, nftables or cgroups takes a [`Claim`] on what it is
//! about to change, writes down how each step is undone *before* it does the step, and undoes the steps in reverse
//! order at its end. A claim that is dropped undoes itself. After `kill -9` the next command that changes the host
//! does so: each calls [`recover`] first; a command with a [`guard()`] has it done at once. What is to outlast its command is *kept*, and undone by whoever takes it
//! over.
//!
//! ```no_run
//! use unbloat_undo::{Claim, Purpose, Resource, Step, recover};
//!
//! # fn main() -> Result<(), unbloat_undo::UndoError> {
//! recover()?;
//! let queues = Resource::Queues { device: "eth0".into() };
//! let mut claim = Claim::take(&queues, &Purpose::this_command())?;
//! claim.before(Step::root("eth0")?)?;
//! // ... replace the root qdisc of eth0, work ...
//! claim.undo()?;
//! # Ok(())
//! # }
//! ```
//!
//! A claim is a file in `/run/unbloat` (or `$UNBLOAT_RUN`) with a line of JSON for each step. What it says is done as root: it is
//! believed only where it and its folder belong to this user and nobody else may write to them; one that is not, or cannot be read,
//! is told of, and keeps no other from being undone. It is locked
//! (`flock`) by its owner as long as that lives: the lock, not a process id, says who is alive, and a second owner is refused.
//! Claims on what a network namespace has of its own are told apart by the namespace's cookie, and undone from within it only.
//! `/run` is empty after a boot, as are the tables of the kernel; a file of an earlier boot is thrown away. Files that outlast a boot
//! ([`Resource::AfterBoot`]) have journals that do so too, in `/var/lib/unbloat` (`lasting` in `$UNBLOAT_RUN`).
//!
//! Better than any step is what dies with its process: BPF links by descriptor, TUN devices, sockets.

mod claim;
mod class;
mod discipline;
mod error;
mod file;
mod folder;
#[doc(hidden)]
pub mod fuzz;
mod guard;
mod journals;
mod netlink;
mod record;
mod resource;
mod step;
mod systemd;

pub use claim::Claim;
pub use class::Class;
pub use discipline::Discipline;
pub use error::UndoError;
pub use file::{write_link, write_text};
pub use guard::guard;
pub use journals::{Holding, Journals, Left, Recovered};
pub use resource::{Purpose, Resource};
pub use step::{Family, Step, is_device, outgoing};
pub use unbloat_os::guard::Guard;

/// Undoes what commands changed that live no longer; those that keep their change are left alone.
///
/// To be called at the start of each command that changes the host. What could not be undone is told in the
/// result, and stays written down for the next start.
pub fn recover() -> Result<Vec<Recovered>, UndoError> {
    Journals::system()?.recover()
}
