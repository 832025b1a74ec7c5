//! What runs in the guest, as its first process.

mod agenda;
mod bed;
mod counters;
mod fault;
mod host;
mod over_host;
mod pairing;
mod ping;
pub(crate) mod referee;
mod replay;
mod rtnetlink;
mod socket;
mod tap;
mod transfer;

use fault::{Doing, Fault};
pub(crate) use over_host::OVER_HOST;
pub use over_host::{Folders, is_over_host, over_host};
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};
use std::fs;

/// The guest's wall clock at the moment when its monotonic clock is zero, as the host sets it.
pub(crate) const EPOCH_NS: u64 = 1_000_000_000_000_000_000;

/// Where the guest finds its input and leaves its output; the host gives them these names.
pub(crate) const INPUT: &str = "/in";
pub(crate) const OUTPUT: &str = "/out";
/// Says `ok` or what went wrong, once the program has ended.
pub(crate) const STATUS: &str = "status";

/// Runs the referee on the input and switches the machine off. Call it in a guest only.
pub fn run_referee() -> ! {
    let verdict = match set_up().and_then(|()| referee::run()) {
        Ok(()) => "ok".to_owned(),
        Err(fault) => fault.to_string(),
    };
    let written = fs::write(format!("{OUTPUT}/{STATUS}"), verdict);
    if let Err(error) = written {
        eprintln!("cannot write the status: {error}");
    }
    switch_off()
}

fn switch_off() -> ! {
    rustix::fs::sync();
    let refused = reboot(RebootCommand::PowerOff);
    panic!("a guest's first process may switch it off: {refused:?}")
}

fn set_up() -> Result<(), Fault> {
    for (kind, folder) in [("proc", "/proc"), ("sysfs", "/sys")] {
        mount(kind, folder, kind, MountFlags::empty(), None)
            .doing(|| format!("mounting {folder}"))?;
    }
    Ok(())
}
