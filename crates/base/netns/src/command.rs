//! Any command as if it ran on a host: in its network, with its own files of names.
//!
//! What happens here happens in the child, after it was forked and before it becomes the command: it may
//! make system calls only, so everything is laid out before.

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// A folder that is there in any case, and a mount itself, to lay files down in for a moment.
const DESK: &CStr = c"/proc";
const DRAFTS: [&CStr; 4] = [c"/proc/0", c"/proc/1", c"/proc/2", c"/proc/3"];

/// What the child needs.
struct Entry {
    namespace: OwnedFd,
    hostname: Vec<u8>,
    /// Mounts that what is done here must not reach through: those that the files are on.
    mounts: Vec<CString>,
    files: Vec<(CString, Vec<u8>)>,
}

/// Lets the command start in the namespace, under that host name, and see these texts at these paths.
/// Files that the system does not have are left out.
pub(crate) fn enter(
    command: &mut Command,
    namespace: OwnedFd,
    hostname: &str,
    files: Vec<(&'static str, String)>,
) {
    let mut entry = Entry {
        namespace,
        hostname: hostname.as_bytes().to_vec(),
        mounts: vec![DESK.to_owned()],
        files: Vec::new(),
    };
    for (path, text) in files {
        let Ok(path) = fs::canonicalize(path) else {
            continue;
        };
        entry.mounts.extend(path.ancestors().filter_map(c_string));
        let path = c_string(&path);
        entry
            .files
            .extend(path.map(|path| (path, text.into_bytes())));
    }
    // SAFETY: `Entry::take` makes system calls only.
    unsafe { command.pre_exec(move || entry.take()) };
}

fn c_string(path: &Path) -> Option<CString> {
    CString::new(path.as_os_str().as_bytes()).ok()
}

impl Entry {
    fn take(&self) -> io::Result<()> {
        let kind = Some(LinkNameSpaceType::Network);
        move_into_link_name_space(self.namespace.as_fd(), kind)?;
        // SAFETY: the child is about to become another program and has one thread.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
        // SAFETY: as above. Kernels without host names per namespace keep their own.
        if unsafe { unshare_unsafe(UnshareFlags::NEWUTS) }.is_ok() {
            rustix::system::sethostname(&self.hostname)?;
        }
        for path in &self.mounts {
            // Most of them are folders on a mount, not mounts.
            let _ = mount_change(path.as_c_str(), MountPropagationFlags::DOWNSTREAM);
        }
        let none = MountFlags::empty();
        mount(c"tmpfs", DESK, c"tmpfs", none, None)?;
        for ((path, text), draft) in self.files.iter().zip(DRAFTS) {
            write(draft, text)?;
            mount_bind(draft, path.as_c_str())?;
        }
        Ok(unmount(DESK, UnmountFlags::DETACH)?)
    }
}

fn write(path: &CStr, text: &[u8]) -> io::Result<()> {
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::from_raw_mode(0o644))?;
    let mut rest = text;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = &rest[written..];
    }
    Ok(())
}
