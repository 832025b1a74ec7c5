//! Network namespaces: made, entered, removed.

use crate::error::{BedError, at};
use crate::process::{Identity, identity};
use rustix::fs::{Access, FlockOperation, access, flock, statfs};
use rustix::io::Errno;
use rustix::mount::{
    MountPropagationFlags, UnmountFlags, mount_bind, mount_bind_recursive, mount_change, unmount,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use unbloat_os::namespace::enter_new_network;

/// Where `ip netns` looks for names.
pub(crate) const FOLDER: &str = "/run/netns";

/// A network namespace that goes away with this value.
#[derive(Debug)]
pub(crate) struct Namespace {
    pub(crate) name: String,
    pub(crate) file: File,
    /// Its name in the file system, where there is one.
    path: Option<PathBuf>,
}

impl Namespace {
    /// Makes one. It is known to `ip netns` by its name unless /run/netns cannot be written.
    pub(crate) fn make(name: String) -> Result<Namespace, BedError> {
        let made = in_a_thread(|| {
            enter_new_network()?;
            File::open("/proc/thread-self/ns/net")
        })?;
        let file = made.map_err(|source| refused(&name, source))?;
        let mut namespace = Namespace {
            name,
            file,
            path: None,
        };
        if can_be_named() {
            namespace.give_name()?;
        }
        Ok(namespace)
    }

    /// A name is a file on which the namespace is mounted, as `ip netns add` does it.
    fn give_name(&mut self) -> Result<(), BedError> {
        let path = Path::new(FOLDER).join(&self.name);
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        made.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => BedError::Taken {
                name: self.name.clone(),
            },
            _ => at(&path)(source),
        })?;
        self.path = Some(path.clone());
        let source = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        mount_bind(source, &path).map_err(|e| at(path)(e.into()))
    }

    /// Moves the calling thread into it.
    pub(crate) fn enter(&self) -> Result<(), BedError> {
        let kind = Some(LinkNameSpaceType::Network);
        move_into_link_name_space(self.file.as_fd(), kind).map_err(|e| BedError::Enter {
            name: self.name.clone(),
            source: e.into(),
        })
    }

    pub(crate) fn identity(&self) -> Option<Identity> {
        identity(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    pub(crate) fn within<T: Send>(&self, job: impl FnOnce() -> T + Send) -> Result<T, BedError> {
        in_a_thread(|| self.enter().map(|()| job()))?
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Some(path) = &self.path
            && let Err(error) = remove_name(path)
        {
            eprintln!("cannot remove namespace {}: {error}", self.name);
        }
    }
}

/// Has connections that no process owns any longer give up after one retransmission instead of eight.
///
/// What they would send has nowhere to go, but until they give up, minutes later, they keep the namespace, and the
/// congestion control that was loaded for them. Where it fails they take those minutes.
fn hurry_orphans(path: &Path) {
    let hurry = || {
        let file = File::open(path)?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
        fs::write("/proc/sys/net/ipv4/tcp_orphan_retries", "1")
    };
    let _ = in_a_thread(hurry);
}

/// Takes the name away; the namespace itself ends with its last user.
///
/// It need not be mounted: a maker may have been killed before it was, and what was mounted in another
/// mount namespace goes when the file is unlinked.
pub(crate) fn remove_name(path: &Path) -> io::Result<()> {
    hurry_orphans(path);
    match unmount(path, UnmountFlags::DETACH) {
        Ok(()) | Err(Errno::INVAL) => {}
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes /run/netns ready as `ip netns add` does: mounts in it are seen in all mount namespaces.
///
/// False where it cannot be written, as in a guest over somebody's root file system. Namespaces are
/// without names there, and end with the process.
fn can_be_named() -> bool {
    if fs::create_dir_all(FOLDER).is_err() || !is_of_this_kernel() {
        return false;
    }
    let Ok(folder) = File::open(FOLDER) else {
        return false;
    };
    // Another process may be at it; the lock goes with the file.
    let locked = flock(&folder, FlockOperation::LockExclusive);
    let shared = MountPropagationFlags::SHARED | MountPropagationFlags::REC;
    let share = || mount_change(FOLDER, shared);
    match locked.and_then(|()| share()) {
        Err(Errno::INVAL) => mount_bind_recursive(FOLDER, FOLDER).is_ok() && share().is_ok(),
        other => other.is_ok(),
    }
}

/// Whether /run/netns can be written and its names are this kernel's: a guest of User Mode Linux may see
/// its host's folder, whose namespaces and processes are none of its own.
pub(crate) fn is_of_this_kernel() -> bool {
    const HOSTFS: i64 = 0x00c0_ffee;
    let kind = statfs(FOLDER).map(|found| found.f_type);
    kind.is_ok_and(|kind| kind != HOSTFS) && access(FOLDER, Access::WRITE_OK).is_ok()
}

/// Entering a namespace concerns a thread, so it is done in one that ends with it.
fn in_a_thread<T: Send>(job: impl FnOnce() -> T + Send) -> Result<T, BedError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("unbloat-netns".to_owned());
        let inside = thread.spawn_scoped(scope, job);
        let inside = inside.map_err(|source| BedError::Thread { source })?;
        inside
            .join()
            .or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn refused(name: &str, source: io::Error) -> BedError {
    match Errno::from_io_error(&source) {
        Some(Errno::PERM) => BedError::NoPrivilege,
        Some(Errno::INVAL | Errno::NOSYS) => BedError::NoNamespaces { source },
        _ => BedError::Make {
            name: name.to_owned(),
            source,
        },
    }
}
