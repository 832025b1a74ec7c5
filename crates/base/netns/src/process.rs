//! Processes of a host: found and ended.
//!
//! A process is a host's if it is in its network namespace, or if its environment says so: a command of
//! the user may make namespaces of its own. Commands that somebody started there by `ip netns exec` are
//! in the namespace too, and go with it.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};
use tracing::debug;

/// What tells a process whose it is: the name of its host.
pub(crate) const VARIABLE: &str = "UNBLOAT_BED";
const POLL: Duration = Duration::from_millis(2);
/// For processes that are being killed to be gone; a kernel may be busy with them.
const PATIENCE: Duration = Duration::from_secs(2);

/// Which namespace a file is, among all of the machine.
pub(crate) type Identity = (u64, u64);

/// What is known of a process.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    handle: OwnedFd,
    pub(crate) namespace: Option<Identity>,
    /// The host for which it was started.
    pub(crate) host: Option<String>,
}

/// The namespace that a file of `/proc/<pid>/ns` or /run/netns is.
pub(crate) fn identity(path: impl AsRef<Path>) -> Option<Identity> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Asks processes to end, and kills those that have not after `grace`. This process is not among them.
/// Whether there were any.
///
/// It waits until they are gone: one that is on its way out shows neither namespace nor environment, but
/// what it made is not yet an orphan's.
pub(crate) fn end(is_meant: impl Fn(&Process) -> bool, grace: Duration) -> bool {
    let begin = Instant::now();
    let mut asked = BTreeMap::new();
    loop {
        let found: Vec<_> = all().filter(|process| is_meant(process)).collect();
        let waited = begin.elapsed();
        let are_gone = found.is_empty() && asked.values().all(is_gone);
        if are_gone || waited > grace + PATIENCE {
            return !asked.is_empty();
        }
        let signal = match (waited < grace, asked.is_empty()) {
            (true, true) => Some(Signal::TERM),
            (true, false) => None,
            (false, _) => Some(Signal::KILL),
        };
        for process in &found {
            if let Some(signal) = signal {
                debug!(pid = process.pid, ?signal, "ending a process of a host");
            }
            // One that has ended meanwhile needs no signal.
            let _ = signal.map(|signal| pidfd_send_signal(&process.handle, signal));
        }
        asked.extend(
            found
                .into_iter()
                .map(|process| (process.pid, process.handle)),
        );
        std::thread::sleep(POLL);
    }
}

/// A process that has ended can be waited for, which its handle tells.
fn is_gone(handle: &OwnedFd) -> bool {
    let mut handles = [PollFd::new(handle, PollFlags::IN)];
    poll(&mut handles, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

fn all() -> impl Iterator<Item = Process> {
    let own = std::process::id();
    let own_namespace = identity("/proc/self/ns/net");
    let entries = Path::new("/proc").read_dir().into_iter().flatten();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter(move |&pid| pid != own)
        .filter_map(move |pid| Process::open(pid, own_namespace))
}

impl Process {
    /// The handle comes first: what is read then is of the same process, or of none.
    ///
    /// Who shares the network of this process is not told by it: that may be the whole machine.
    fn open(pid: u32, own_namespace: Option<Identity>) -> Option<Process> {
        let handle = Pid::from_raw(pid.try_into().ok()?)?;
        let handle = pidfd_open(handle, PidfdFlags::empty()).ok()?;
        let folder = Path::new("/proc").join(pid.to_string());
        Some(Process {
            pid,
            handle,
            namespace: identity(folder.join("ns/net")).filter(|n| Some(*n) != own_namespace),
            host: host(&fs::read(folder.join("environ")).unwrap_or_default()),
        })
    }
}

fn host(environment: &[u8]) -> Option<String> {
    let mut variables = environment.split(|&byte| byte == 0);
    let value = variables.find_map(|v| v.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"="))?;
    String::from_utf8(value.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command};

    fn started(script: &str, host: &str) -> Child {
        let mut command = Command::new("sh");
        let child = command.args(["-c", script]).env(VARIABLE, host).spawn();
        let child = child.unwrap();
        // Between its exec and the laying out of its memory its environment reads as empty.
        let environment = format!("/proc/{}/environ", child.id());
        let is_seen = || super::host(&fs::read(&environment).unwrap()).as_deref() == Some(host);
        while !is_seen() {
            std::thread::sleep(POLL);
        }
        child
    }

    fn end_those_of(name: &str, grace: Duration) {
        end(|process| process.host.as_deref() == Some(name), grace);
    }

    #[test]
    fn what_was_started_for_a_host_ends_with_all_that_it_started() {
        let mut child = started("sleep 97 & setsid sleep 97; true", "test-a");
        let mut other = started("sleep 97", "test-b");
        end_those_of("test-a", Duration::ZERO);
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        assert!(other.try_wait().unwrap().is_none());
        end_those_of("test-b", Duration::from_secs(1));
        assert_eq!(other.wait().unwrap().signal(), Some(15));
    }

    #[test]
    fn nobody_is_found_by_the_network_of_this_process() {
        let own = identity("/proc/self/ns/net");
        assert!(own.is_some());
        assert!(all().all(|process| process.namespace != own));
    }

    #[test]
    fn the_environment_is_searched_for_the_whole_name() {
        assert_eq!(host(b"A=1\0UNBLOAT_BED=x\0B=2\0").as_deref(), Some("x"));
        assert_eq!(host(b"NOT_UNBLOAT_BED=x\0UNBLOAT_BEDS=y\0"), None);
    }
}
