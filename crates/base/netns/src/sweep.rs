//! Removing what killed makers left, and nothing else.
//!
//! Everything that a bed makes ends with its process, except what has a name in the system and what the
//! user's commands do. Names begin with the mark of their maker ([`Maker`]) and processes carry it in
//! their environment, so a sweep needs no list that a killed process might not have written.
//!
//! Devices need no sweep: they are made inside of namespaces and go with them.

use crate::maker::Maker;
use crate::namespace::{self, remove_name};
use crate::process::{self, Identity};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tracing::info;

/// What a sweep found.
#[derive(Debug, Default)]
pub struct Swept {
    /// Where it was.
    pub removed: Vec<PathBuf>,
    /// What could not be removed, and why.
    pub kept: Vec<(PathBuf, io::Error)>,
}

/// A folder of things that outlive their maker.
struct Place {
    folder: PathBuf,
    remove: fn(&Path) -> io::Result<()>,
}

/// Where marked things are looked for: what a crate makes elsewhere needs a line here.
fn places() -> Vec<Place> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let of = |kind, remove: fn(&Path) -> io::Result<()>| {
        let folders = mounted(&mounts, kind).into_iter();
        folders.map(move |folder| Place { folder, remove })
    };
    let names = namespace::is_of_this_kernel().then(|| Place {
        folder: PathBuf::from(namespace::FOLDER),
        remove: remove_name,
    });
    let groups = of("cgroup2", remove_group);
    let pins = of("bpf", |pin| fs::remove_file(pin));
    names.into_iter().chain(groups).chain(pins).collect()
}

/// Removes what carries the mark of a process that no longer lives.
///
/// That is: network namespaces, processes in them or of their commands, control groups (at the top of
/// cgroup2) and pinned BPF objects (at the top of bpffs). Containers that share these folders must also
/// share their process numbers: a maker that cannot be seen is taken for dead.
pub fn sweep() -> Swept {
    let dead: Vec<_> = marked().filter(|found| !found.maker.is_alive()).collect();
    let identities = dead
        .iter()
        .filter_map(|found| process::identity(&found.path));
    end_processes(&identities.collect());
    let mut swept = Swept::default();
    for Found { path, remove, .. } in dead {
        match remove(&path) {
            Ok(()) => {
                info!(path = %path.display(), "removed what a killed process left");
                swept.removed.push(path);
            }
            // Somebody else sweeps at this moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => swept.kept.push((path, error)),
        }
    }
    swept
}

fn end_processes(namespaces: &BTreeSet<Identity>) {
    let is_orphan = |process: &process::Process| {
        let is_inside = process.namespace.is_some_and(|n| namespaces.contains(&n));
        let maker = process.host.as_deref().and_then(Maker::of);
        is_inside || maker.is_some_and(|maker| !maker.is_alive())
    };
    process::end(is_orphan, Duration::ZERO);
}

/// Paths of what the beds of process `pid` have not removed.
pub fn leftovers(pid: u32) -> Vec<PathBuf> {
    let of_pid = marked().filter(|found| found.maker.pid() == pid);
    of_pid.map(|found| found.path).collect()
}

struct Found {
    path: PathBuf,
    maker: Maker,
    remove: fn(&Path) -> io::Result<()>,
}

fn marked() -> impl Iterator<Item = Found> {
    places().into_iter().flat_map(|Place { folder, remove }| {
        // Before the first namespace is made the folder does not exist.
        let entries = folder.read_dir().into_iter().flatten();
        entries.filter_map(move |entry| {
            let entry = entry.ok()?;
            let maker = Maker::of(entry.file_name().to_str()?)?;
            let path = entry.path();
            Some(Found {
                path,
                maker,
                remove,
            })
        })
    })
}

/// Where file systems of a kind are mounted.
fn mounted(mounts: &str, kind: &str) -> BTreeSet<PathBuf> {
    let fields = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    let of_kind = fields.filter(|f| f.get(2) == Some(&kind));
    of_kind.map(|f| PathBuf::from(f[1])).collect()
}

/// Ends the group's processes, then removes it.
fn remove_group(group: &Path) -> io::Result<()> {
    const TRIES: u32 = 100;
    // Kernels before 5.14 cannot kill by group; if processes are left, the removal says so.
    let _ = fs::write(group.join("cgroup.kill"), "1");
    for _ in 0..TRIES {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
            result => return result,
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    fs::remove_dir(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_found_by_kind() {
        let mounts =
            "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\nbpf /sys/fs/bpf bpf rw 0 0\n\n";
        let found: Vec<_> = mounted(mounts, "cgroup2").into_iter().collect();
        assert_eq!(found, [Path::new("/sys/fs/cgroup/unified")]);
    }
}
