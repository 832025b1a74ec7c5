//! A guest whose files are the host's: what its first process does before and after its work.

use super::fault::{Doing, Fault};
use super::{STATUS, switch_off};
use rustix::mount::{MountFlags, mount};
use std::ffi::CString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use unbloat_os::priority;

/// In the kernel's command line; the kernel hands it to the first process as environment.
pub(crate) const OVER_HOST: &str = "UNBLOAT_GUEST=over-host";

/// Folders for passing files.
const PASSING: [&str; 2] = ["/tmp", "/var/tmp"];
const RUN: &str = "/run";
/// What the host shows of the run's folder.
const FOLDER: &str = "/run/unbloat";

/// The folders through which host and guest exchange files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    pub input: PathBuf,
    pub output: PathBuf,
}

impl Folders {
    /// Gives the guest empty /tmp and /var/tmp of its own. Until then they are the host's, read-only like all else.
    pub fn empty_temporary(&self) -> Result<(), String> {
        let folders = PASSING.iter().filter(|folder| Path::new(folder).is_dir());
        let mut mounts = folders.map(|folder| mount_on("tmpfs", folder, None));
        mounts.try_for_each(|mounted| mounted.map_err(|fault| fault.to_string()))
    }
}

/// In the first process of a guest over the host's files: does `work`, tells the host what came of it, and
/// switches the guest off. In any other process: nothing.
///
/// To be called first in `main`, before there are threads.
pub fn over_host(work: impl FnOnce(&Folders) -> Result<(), String>) {
    if !is_over_host() {
        return;
    }
    let folders = Folders {
        input: Path::new(FOLDER).join("in"),
        output: Path::new(FOLDER).join("out"),
    };
    let done = set_up(&folders).map_err(|fault| fault.to_string());
    // A panic is told by its hook, on the console.
    let verdict = match done.and_then(|()| work(&folders)) {
        Ok(()) => "ok".to_owned(),
        Err(message) => message,
    };
    if let Err(error) = fs::write(folders.output.join(STATUS), verdict) {
        eprintln!("cannot write the status: {error}");
    }
    switch_off()
}

/// Whether this process is in a guest over the host's files, first or not: time is virtual there.
pub fn is_over_host() -> bool {
    let (name, value) = OVER_HOST.split_once('=').expect("a name and a value");
    std::process::id() == 1 && std::env::var_os(name).is_some_and(|v| v == value)
}

fn set_up(folders: &Folders) -> Result<(), Fault> {
    make_timers_exact();
    // Of the host's that are seen until now.
    mount_on("proc", "/proc", None)?;
    mount_on("sysfs", "/sys", None)?;
    mount_on("tmpfs", RUN, None)?;
    for (kind, folder) in [("devpts", "/dev/pts"), ("tmpfs", "/dev/shm")] {
        fs::create_dir_all(folder).doing(|| format!("making {folder}"))?;
        mount_on(kind, folder, None)?;
    }
    for (folder, name) in [(&folders.input, "in"), (&folders.output, "out")] {
        fs::create_dir_all(folder).doing(|| format!("making {}", folder.display()))?;
        // A path of the host's, looked up by the guest's kernel.
        let of_host = format!("/proc/self/cwd/{name}");
        mount_on("hostfs", &folder.to_string_lossy(), Some(&of_host))?;
    }
    Ok(())
}

/// For this thread and those that it makes. Of a thread of the normal class the kernel lets timeouts of poll and epoll be late
/// by a thousandth of their length; where time is virtual, no class can starve another.
fn make_timers_exact() {
    priority::make_timers_exact();
    priority::take_realtime(1);
}

fn mount_on(kind: &str, folder: &str, data: Option<&str>) -> Result<(), Fault> {
    let data = data.map(CString::new).transpose();
    let data = data.map_err(io::Error::from);
    data.and_then(|data| {
        Ok(mount(
            kind,
            folder,
            kind,
            MountFlags::empty(),
            data.as_deref(),
        )?)
    })
    .doing(|| format!("mounting {kind} on {folder}"))
}
