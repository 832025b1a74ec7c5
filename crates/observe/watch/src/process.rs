//! Whose sockets: `/proc/PID/fd` of all processes that we may look into.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Processes that are looked into at most, and descriptors of each.
const MOST_PROCESSES: usize = 32_768;
const MOST_DESCRIPTORS: usize = 65_536;
/// Sockets that are remembered.
const MOST_SOCKETS: usize = 65_536;

/// A process that holds a socket; one of them, where several do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    /// As its kernel calls it: at most 15 bytes of its program's name.
    pub name: String,
}

/// Processes by the inodes of their sockets. Those that nobody was found to hold are not looked for again.
#[derive(Default)]
pub(crate) struct Processes {
    known: HashMap<u32, Option<Process>>,
}

impl Processes {
    pub(crate) fn find(&mut self, wanted: &HashSet<u32>) {
        let missing = |inode: &u32| !self.known.contains_key(inode);
        let mut missing: HashSet<u32> = wanted.iter().copied().filter(missing).collect();
        if missing.is_empty() {
            return;
        }
        if self.known.len() + missing.len() > MOST_SOCKETS {
            self.known.retain(|inode, _| wanted.contains(inode));
        }
        for folder in fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .take(MOST_PROCESSES)
        {
            let Some(pid) = folder
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            for inode in sockets(&folder.path()).filter(|inode| wanted.contains(inode)) {
                if missing.remove(&inode) {
                    self.known.insert(
                        inode,
                        name(&folder.path()).map(|name| Process { pid, name }),
                    );
                }
            }
            if missing.is_empty() {
                break;
            }
        }
        self.known
            .extend(missing.iter().map(|inode| (*inode, None)));
    }

    pub(crate) fn of(&self, inode: u32) -> Option<&Process> {
        self.known.get(&inode)?.as_ref()
    }
}

fn sockets(process: &Path) -> impl Iterator<Item = u32> {
    let descriptors = fs::read_dir(process.join("fd"))
        .into_iter()
        .flatten()
        .flatten();
    descriptors.take(MOST_DESCRIPTORS).filter_map(|descriptor| {
        let target = fs::read_link(descriptor.path()).ok()?;
        let inode = target
            .to_str()?
            .strip_prefix("socket:[")?
            .strip_suffix(']')?;
        inode.parse().ok()
    })
}

fn name(process: &Path) -> Option<String> {
    let name = fs::read(process.join("comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim_end().to_owned())
}

/// The inode of the calling thread's network namespace.
pub(crate) fn namespace() -> std::io::Result<u32> {
    let inode = fs::metadata("/proc/thread-self/ns/net")?.ino();
    u32::try_from(inode).map_err(std::io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_socket_of_ours_is_found_to_be_ours() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap();
        let inode = link.to_str().unwrap()[8..]
            .trim_end_matches(']')
            .parse()
            .unwrap();
        let mut processes = Processes::default();
        let nobodys = u32::MAX;
        processes.find(&[inode, nobodys].into());
        assert_eq!(processes.of(inode).unwrap().pid, std::process::id());
        assert_eq!(processes.of(nobodys), None);
        assert!(processes.known.contains_key(&nobodys));
    }
}
