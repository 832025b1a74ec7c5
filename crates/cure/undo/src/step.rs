//! What is done to a host, as what has to be done to undo it.

use crate::class::{self, Class};
use crate::discipline::{self, Discipline, INGRESS};
use crate::error::UndoError;
use crate::file;
use crate::netlink::{DELETE_FILTER, Netlink};
use crate::systemd;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::Command;
use tracing::debug;
use unbloat_os::offload::{self, Offload};

/// How one step is undone. A closed list: nothing else is ever run for a journal.
///
/// Each may be undone twice, and when it was never done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A link that is about to be made: it is deleted. Where the index is given, only if it has that one.
    Link { name: String, index: Option<u32> },
    /// The outgoing queue disciplines of a device: put back as they were.
    Root {
        device: String,
        index: u32,
        before: Vec<Discipline>,
    },
    /// The rates of a device's htb classes, and the disciplines below: put back where they are still there.
    Classes {
        device: String,
        index: u32,
        before: Vec<Class>,
        leaves: Vec<Discipline>,
    },
    /// `ingress` or `clsact` on a device that had none: taken away, with all filters in it.
    Ingress { device: String, index: u32 },
    /// Filters of one priority at one place: taken away.
    Filters {
        device: String,
        index: u32,
        parent: u32,
        priority: u16,
    },
    /// What makes several packets one on a device: switched on again, as far as it was.
    Offloads {
        device: String,
        index: u32,
        /// Of journals without `features`.
        were_on: Vec<Offload>,
        /// Each switch above is several of these, of which some may have been off, or cannot be switched.
        #[serde(default)]
        features: Vec<u32>,
        /// Of one packet of this host's own TCP.
        #[serde(default)]
        most_segments: Option<u32>,
    },
    /// A file of the kernel's that commands here write: the number that it held is written back.
    Setting { path: PathBuf, before: String },
    /// A table of nftables: deleted, by `nft`.
    Table { family: Family, name: String },
    /// A cgroup: its processes go to the one above, and it is removed.
    Cgroup { path: PathBuf },
    /// A folder for files of systemd that is about to be made: removed if it is empty.
    Folder { path: PathBuf },
    /// A new file of systemd: removed if it has this text.
    File { path: PathBuf, text: String },
    /// A new symbolic link of systemd: removed if it points there.
    SymbolicLink { path: PathBuf, target: String },
    /// systemd is to read its units again.
    Units,
    /// A unit that is about to be started: stopped.
    Unit { name: String },
}

/// Of nftables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    Inet,
    Ip,
    Ip6,
    Netdev,
    Bridge,
}

impl Step {
    /// Before a link of that name is made; there must be none.
    pub fn link(name: &str) -> Result<Step, UndoError> {
        let found = open()?.index(name).map_err(UndoError::Kernel)?;
        match found {
            None => Ok(Step::Link {
                name: name.to_owned(),
                index: None,
            }),
            Some(_) => Err(UndoError::DeviceExists {
                device: name.to_owned(),
            }),
        }
    }

    /// Before the root discipline of a device is replaced.
    pub fn root(device: &str) -> Result<Step, UndoError> {
        let netlink = open()?;
        let index = index(&netlink, device)?;
        Ok(Step::Root {
            before: discipline::outgoing(&netlink, device, index)?,
            device: device.to_owned(),
            index,
        })
    }

    /// Before rates of a device's htb classes are changed, or limits of disciplines below.
    pub fn classes(device: &str) -> Result<Step, UndoError> {
        let netlink = open()?;
        let index = index(&netlink, device)?;
        Ok(Step::Classes {
            before: class::on(&netlink, index).map_err(UndoError::Kernel)?,
            leaves: discipline::leaves(&netlink, index).map_err(UndoError::Kernel)?,
            device: device.to_owned(),
            index,
        })
    }

    /// Before an ingress or clsact discipline is added to a device; there must be none.
    pub fn ingress(device: &str) -> Result<Step, UndoError> {
        let netlink = open()?;
        let index = index(&netlink, device)?;
        let device = device.to_owned();
        let found = discipline::incoming(&netlink, index).map_err(UndoError::Kernel)?;
        match found {
            None => Ok(Step::Ingress { device, index }),
            Some(kind) => Err(UndoError::CannotSave {
                device,
                kind,
                place: "ingress",
            }),
        }
    }

    /// Before filters of a priority that nobody else uses there are added.
    pub fn filters(device: &str, parent: u32, priority: u16) -> Result<Step, UndoError> {
        Ok(Step::Filters {
            index: index(&open()?, device)?,
            device: device.to_owned(),
            parent,
            priority,
        })
    }

    /// Before what makes several packets one is switched off on a device.
    pub fn offloads(device: &str) -> Result<Step, UndoError> {
        Ok(Step::Offloads {
            index: index(&open()?, device)?,
            features: offload::features(device).map_err(UndoError::Kernel)?,
            most_segments: offload::most_segments(device).map_err(UndoError::Kernel)?,
            device: device.to_owned(),
            were_on: Vec::new(),
        })
    }

    /// Before IPv4 forwarding is written.
    pub fn setting(path: &Path) -> Result<Step, UndoError> {
        if !is_setting(path) {
            let path = path.to_owned();
            return Err(UndoError::NoSetting { path });
        }
        let before = fs::read_to_string(path).map_err(|source| UndoError::File {
            path: path.to_owned(),
            source,
        })?;
        Ok(Step::Setting {
            path: path.to_owned(),
            before: before.trim_end().to_owned(),
        })
    }

    /// Before a folder of systemd is made. None: it is there.
    pub fn folder(path: &Path) -> Result<Option<Step>, UndoError> {
        let path = path.to_owned();
        match (path.exists(), file::is_folder_place(&path)) {
            (true, _) => Ok(None),
            (false, true) => Ok(Some(Step::Folder { path })),
            (false, false) => Err(UndoError::NoPlace { path }),
        }
    }

    /// Before a file of systemd is written ([`crate::write_text`]); there must be none.
    pub fn file(path: &Path, text: &str) -> Result<Step, UndoError> {
        Ok(Step::File {
            path: new_file(path)?,
            text: text.to_owned(),
        })
    }

    /// Before a symbolic link of systemd is made ([`crate::write_link`]); there must be none.
    pub fn symbolic_link(path: &Path, target: &str) -> Result<Step, UndoError> {
        Ok(Step::SymbolicLink {
            path: new_file(path)?,
            target: target.to_owned(),
        })
    }

    /// A file that outlasts a boot, and its text, or what a link points to.
    pub(crate) fn file_text(&self) -> Option<(&Path, &str)> {
        match self {
            Step::File { path, text } => Some((path, text)),
            Step::SymbolicLink { path, target } => Some((path, target)),
            _ => None,
        }
    }

    /// The file, if it is not what was written.
    pub(crate) fn edited(&self) -> Option<&Path> {
        let is_link = matches!(self, Step::SymbolicLink { .. });
        let (path, text) = self.file_text()?;
        file::is_edited(path, text, is_link).then_some(path)
    }

    /// Undoes it; what is there no longer needs no undoing.
    pub(crate) fn undo(&self, netlink: &Netlink) -> io::Result<()> {
        match self {
            Step::Link { name, index } => match netlink.index(name)? {
                Some(found) if index.is_none_or(|index| index == found) => {
                    netlink.delete_link(found)
                }
                _ => Ok(()),
            },
            Step::Root { index, before, .. } => match netlink.name(*index)? {
                Some(_) => discipline::restore(netlink, *index, before),
                None => Ok(()),
            },
            Step::Classes {
                index,
                before,
                leaves,
                ..
            } => match netlink.name(*index)? {
                Some(_) => class::restore(netlink, *index, before)
                    .and_then(|()| discipline::change_back(netlink, *index, leaves)),
                None => Ok(()),
            },
            Step::Ingress { index, .. } => discipline::delete(netlink, *index, INGRESS),
            Step::Filters {
                index,
                parent,
                priority,
                ..
            } => delete_filters(netlink, *index, *parent, *priority),
            // Renamed, perhaps.
            Step::Offloads {
                index,
                were_on,
                features,
                most_segments,
                ..
            } => match netlink.name(*index)? {
                Some(name) => {
                    were_on.iter().try_for_each(|it| switch_on(*it, &name))?;
                    offload::set_features(&name, features)?;
                    most_segments.map_or(Ok(()), |most| offload::set_most_segments(&name, most))
                }
                None => Ok(()),
            },
            Step::Setting { path, before } => write_back(path, before),
            Step::Table { family, name } => delete_table(*family, name),
            Step::Cgroup { path } => remove_cgroup(path),
            Step::Folder { path } => file::remove_folder(path),
            Step::File { path, text } => file::remove(path, text, false),
            Step::SymbolicLink { path, target } => file::remove(path, target, true),
            Step::Units => systemd::reload(),
            Step::Unit { name } => systemd::stop(name),
        }
    }

    /// For messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Step::Link { name, .. } => format!("link {}", name.escape_debug()),
            Step::Root { device, .. } => format!("qdiscs of {}", device.escape_debug()),
            Step::Classes { device, .. } => format!("classes of {}", device.escape_debug()),
            Step::Ingress { device, .. } => format!("ingress of {}", device.escape_debug()),
            Step::Filters { device, .. } => format!("filters of {}", device.escape_debug()),
            Step::Offloads { device, .. } => format!("offloads of {}", device.escape_debug()),
            Step::Setting { path, .. } | Step::Cgroup { path } => {
                path.to_string_lossy().escape_debug().to_string()
            }
            Step::Table { name, .. } => format!("nftables table {}", name.escape_debug()),
            Step::Folder { path } | Step::File { path, .. } | Step::SymbolicLink { path, .. } => {
                path.to_string_lossy().escape_debug().to_string()
            }
            Step::Units => "units of systemd".to_owned(),
            Step::Unit { name } => format!("unit {}", name.escape_debug()),
        }
    }
}

/// Whether a device has the name.
pub fn is_device(name: &str) -> Result<bool, UndoError> {
    let found = open()?.index(name).map_err(UndoError::Kernel)?;
    Ok(found.is_some())
}

/// A device's index, and the disciplines that it has now at its root and below.
pub fn outgoing(device: &str) -> Result<(u32, Vec<Discipline>), UndoError> {
    let netlink = open()?;
    let index = index(&netlink, device)?;
    let all = discipline::on(&netlink, index).map_err(UndoError::Kernel)?;
    let out = all.into_iter().filter(|d| d.parent != INGRESS);
    Ok((index, out.collect()))
}

fn new_file(path: &Path) -> Result<PathBuf, UndoError> {
    let path = path.to_owned();
    match (file::is_place(&path), path.symlink_metadata().is_ok()) {
        (false, _) => Err(UndoError::NoPlace { path }),
        (true, true) => Err(UndoError::FileExists { path }),
        (true, false) => Ok(path),
    }
}

fn open() -> Result<Netlink, UndoError> {
    Netlink::open().map_err(UndoError::Kernel)
}

fn index(netlink: &Netlink, device: &str) -> Result<u32, UndoError> {
    let found = netlink.index(device).map_err(UndoError::Kernel)?;
    found.ok_or_else(|| UndoError::NoDevice {
        device: device.to_owned(),
    })
}

/// Those that commands here write, and nothing else: among what is below /proc/sys are names of programs that the kernel runs.
pub(crate) fn is_setting(path: &Path) -> bool {
    let Some(path) = path.to_str() else {
        return false;
    };
    let device = || {
        let of_devices = path.strip_prefix("/proc/sys/net/ipv4/conf/")?;
        let (name, setting) = of_devices.split_once('/')?;
        let is_name = !name.is_empty() && name != "." && name != "..";
        Some(is_name && setting == "forwarding")
    };
    path == "/proc/sys/net/ipv4/ip_forward" || device().unwrap_or(false)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What a device cannot switch, nobody has switched off.
fn switch_on(offload: Offload, device: &str) -> io::Result<()> {
    match offload.set(device, true) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::OPNOTSUPP) => Ok(()),
        told => told,
    }
}

fn delete_filters(netlink: &Netlink, index: u32, parent: u32, priority: u16) -> io::Result<()> {
    let info = u32::from(priority) << 16;
    match netlink.tell(DELETE_FILTER, &discipline::fixed(index, parent, info)) {
        Err(error) if discipline::is_absent(&error) => Ok(()),
        told => told,
    }
}

fn write_back(path: &Path, before: &str) -> io::Result<()> {
    if !is_setting(path) || !is_number(before.trim()) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    match fs::write(path, before) {
        // With its device or module.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        written => written,
    }
}

fn delete_table(family: Family, name: &str) -> io::Result<()> {
    let family = match family {
        Family::Inet => "inet",
        Family::Ip => "ip",
        Family::Ip6 => "ip6",
        Family::Netdev => "netdev",
        Family::Bridge => "bridge",
    };
    // nft joins its arguments and reads them as its language.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let nft = |verb: &str| {
        let mut command = Command::new("nft");
        let output = command.args([verb, "table", family, name]).output();
        debug!(?command, "command");
        output
    };
    if !nft("list")?.status.success() {
        return Ok(());
    }
    let deleted = nft("delete")?;
    match deleted.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(
            String::from_utf8_lossy(&deleted.stderr).trim().to_owned(),
        )),
    }
}

fn remove_cgroup(path: &Path) -> io::Result<()> {
    const PROCESSES: &str = "cgroup.procs";
    let goes_up = path.components().any(|part| part == Component::ParentDir);
    if goes_up || !path.starts_with("/sys/fs/cgroup") || !path.join(PROCESSES).exists() {
        return Ok(());
    }
    let above = path.parent().unwrap_or(path).join(PROCESSES);
    for pid in fs::read_to_string(path.join(PROCESSES))?.lines() {
        // It may have ended meanwhile.
        let _ = fs::write(&above, pid);
    }
    match fs::remove_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_below_the_control_groups_is_one_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let group = folder.path().join("group");
        fs::create_dir(&group).expect("a folder");
        fs::write(group.join("cgroup.procs"), "1\n").expect("a file");
        let outside = Path::new("/sys/fs/cgroup/../../..").join(group.strip_prefix("/").unwrap());
        assert!(outside.join("cgroup.procs").exists());
        remove_cgroup(&outside).expect("nothing to do");
        assert!(!folder.path().join("cgroup.procs").exists());
        assert!(group.join("cgroup.procs").exists());
    }

    #[test]
    fn only_settings_of_the_kernel_are_settings() {
        for path in [
            "/etc/passwd",
            "/proc/sys/../../etc/passwd",
            "/sysx/a",
            "sys/a",
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/modprobe",
            "/proc/sys/net/ipv4/../../kernel/modprobe",
            "/proc/sys/net/ipv4/tcp_notsent_lowat/",
            "/sys/kernel/uevent_helper",
            "/proc/sys/net/ipv4/conf/../forwarding",
            "/proc/sys/net/ipv4/conf/eth0/../../../kernel/modprobe",
            "/proc/sys/net/ipv4/conf/eth0/rp_filter",
            "/proc/sys/net/ipv4/ip_forward/x",
        ] {
            assert!(Step::setting(Path::new(path)).is_err(), "{path}");
            assert!(write_back(Path::new(path), "1").is_err(), "{path}");
        }
        let switch = Path::new("/proc/sys/net/ipv4/ip_forward");
        let step = Step::setting(switch).unwrap();
        assert!(matches!(step, Step::Setting { before, .. } if is_number(before.trim())));
        assert!(write_back(switch, "|/bin/sh").is_err());
        assert!(is_setting(Path::new(
            "/proc/sys/net/ipv4/conf/eth0.5/forwarding"
        )));
    }

    #[test]
    fn a_table_with_a_name_in_nfts_language_is_refused() {
        for name in ["", "a; flush ruleset", "a b", "{", "a\nb"] {
            assert!(delete_table(Family::Inet, name).is_err(), "{name}");
        }
    }
}
