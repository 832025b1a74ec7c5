//! Network namespaces of a bed: made, entered, removed, and swept when their maker died.
//!
//! Everything is named `ub-<pid>-...`, so several beds run side by side and what a killed one
//! left behind can be told from what a living one uses.

use crate::error::{LabError, at};
use nix::sched::{CloneFlags, setns};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const FOLDER: &str = "/run/netns";
const PREFIX: &str = "ub-";

/// A network namespace that disappears with this value.
#[derive(Debug)]
pub(crate) struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes `ub-<pid>-<role>` with loopback up and what a bed needs set.
    pub(crate) fn create(role: &str) -> Result<Namespace, LabError> {
        let name = format!("{PREFIX}{}-{role}", std::process::id());
        ip(&["netns", "add", &name])?;
        let namespace = Namespace { name };
        namespace.ip("link set lo up\n")?;
        namespace.within(set_up)?;
        Ok(namespace)
    }

    /// Moves the calling thread, for good, into the namespace.
    pub(crate) fn enter(&self) -> Result<(), LabError> {
        let enter = || {
            let file = File::open(Path::new(FOLDER).join(&self.name))?;
            Ok(setns(file, CloneFlags::CLONE_NEWNET)?)
        };
        enter().map_err(|source| LabError::Enter {
            name: self.name.clone(),
            source,
        })
    }

    /// Runs `job` on a thread inside the namespace.
    pub(crate) fn within<T: Send>(
        &self,
        job: impl FnOnce() -> Result<T, LabError> + Send,
    ) -> Result<T, LabError> {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| self.enter().and_then(|()| job()));
            let what = "namespace";
            inside.join().map_err(|_| LabError::Thread { what })?
        })
    }

    /// Feeds lines to `ip -batch`.
    pub(crate) fn ip(&self, lines: &str) -> Result<(), LabError> {
        let mut child = Command::new("ip")
            .args(["-n", &self.name, "-batch", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(no_ip)?;
        let mut stdin = child.stdin.take().expect("stdin is piped");
        stdin.write_all(lines.as_bytes()).map_err(no_ip)?;
        drop(stdin);
        let output = child.wait_with_output().map_err(no_ip)?;
        succeeded("ip -batch", output.status.success(), &output.stderr)
    }

    /// Lets packets pass from sockets to the device's driver at once.
    pub(crate) fn without_queue(&self, device: &str) -> Result<(), LabError> {
        let arguments = ["-n", &self.name, "qdisc", "replace", "dev", device];
        let output = Command::new("tc")
            .args(arguments)
            .args(["root", "noqueue"])
            .output()
            .map_err(|source| LabError::NoCommand {
                command: "tc",
                source,
            })?;
        succeeded("tc qdisc replace", output.status.success(), &output.stderr)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = ip(&["netns", "del", &self.name]) {
            eprintln!("could not remove namespace {}: {error}", self.name);
        }
    }
}

fn set_up() -> Result<(), LabError> {
    for (key, value) in [
        ("net/ipv6/conf/all/disable_ipv6", "1"),
        ("net/ipv4/ip_local_port_range", "10000 65000"),
        // A bed's flows start from the same state, not from what earlier ones learnt.
        ("net/ipv4/tcp_no_metrics_save", "1"),
        ("net/core/somaxconn", "4096"),
    ] {
        let path = Path::new("/proc/sys").join(key);
        fs::write(&path, value).map_err(at(path))?;
    }
    Ok(())
}

/// Packets that the device's own transmit queue dropped before the middlebox could read them.
pub(crate) fn transmit_drops(namespace: &Namespace, device: &str) -> Result<u64, LabError> {
    let output = Command::new("ip")
        .args(["-n", &namespace.name, "-s", "-j", "link", "show", device])
        .output()
        .map_err(no_ip)?;
    succeeded("ip -s link", output.status.success(), &output.stderr)?;
    let links: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    Ok(links[0]["stats64"]["tx"]["dropped"].as_u64().unwrap_or(0))
}

/// Names of namespaces that the bed of process `pid` has not removed.
pub fn leftovers(pid: u32) -> Vec<String> {
    everything()
        .filter(|name| maker(name) == Some(pid))
        .collect()
}

/// Removes what beds of processes that no longer live have left.
pub(crate) fn sweep() {
    for name in everything() {
        if maker(&name).is_some_and(is_dead) {
            drop(Namespace { name });
        }
    }
}

/// Gone, or a zombie, whose command line is empty.
fn is_dead(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).map_or(true, |line| line.is_empty())
}

fn everything() -> impl Iterator<Item = String> {
    // Before the first namespace is made the folder does not exist.
    let entries = Path::new(FOLDER).read_dir().into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

/// The process that made the namespace of this name, if a bed did.
fn maker(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

fn ip(arguments: &[&str]) -> Result<(), LabError> {
    let output = Command::new("ip").args(arguments).output().map_err(no_ip)?;
    let command = format!("ip {}", arguments.join(" "));
    succeeded(&command, output.status.success(), &output.stderr)
}

fn no_ip(source: std::io::Error) -> LabError {
    LabError::NoCommand {
        command: "ip",
        source,
    }
}

fn succeeded(command: &str, success: bool, stderr: &[u8]) -> Result<(), LabError> {
    if success {
        return Ok(());
    }
    Err(LabError::Command {
        command: command.to_owned(),
        stderr: String::from_utf8_lossy(stderr).trim().to_owned(),
    })
}
