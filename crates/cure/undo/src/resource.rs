//! What can be claimed, and what for.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Of a name in a file name; longer ones are told apart by a hash.
const LONGEST: usize = 120;

/// What has one owner at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// The queue disciplines of a device, both ways.
    Queues { device: String },
    /// What a device itself is told: byte queue limits, ring sizes.
    Device { device: String },
    /// Flows of the processes in a cgroup, by its path below the mount; one for all namespaces.
    Cgroup { path: PathBuf },
    /// A table of nftables.
    Table { name: String },
    /// A router elsewhere, as ssh knows it; one for all namespaces.
    Router { target: String },
    /// Whether packets of others are handed on.
    Forwarding,
    /// The files by which a device is shaped again after each boot.
    AfterBoot { device: String },
}

impl Resource {
    /// Whether each network namespace has its own.
    pub(crate) fn is_of_namespace(&self) -> bool {
        !matches!(
            self,
            Resource::Cgroup { .. } | Resource::Router { .. } | Resource::AfterBoot { .. }
        )
    }

    /// Whether it outlasts a boot, and its journal with it.
    pub(crate) fn outlasts_boot(&self) -> bool {
        matches!(self, Resource::AfterBoot { .. })
    }

    /// The name of its claim's file, without whose namespace it is in.
    pub(crate) fn file_stem(&self) -> String {
        let (kind, name) = match self {
            Resource::Queues { device } => ("queues", device.clone()),
            Resource::Device { device } => ("device", device.clone()),
            Resource::Cgroup { path } => ("cgroup", path.to_string_lossy().into_owned()),
            Resource::Table { name } => ("table", name.clone()),
            Resource::Router { target } => ("router", target.clone()),
            Resource::Forwarding => ("forwarding", "ipv4".to_owned()),
            Resource::AfterBoot { device } => ("after-boot", device.clone()),
        };
        format!("{kind}-{}", safe(&name))
    }
}

/// Letters, digits and `-` as they are, all other bytes as `%` and two digits.
fn safe(name: &str) -> String {
    let mut safe = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => safe.push(char::from(byte)),
            other => safe.push_str(&format!("%{other:02x}")),
        }
    }
    if safe.len() > LONGEST {
        safe.truncate(LONGEST);
        safe.push_str(&format!("%%{:016x}", hash(name)));
    }
    safe
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::Queues { device } => write!(f, "the queues of {}", device.escape_debug()),
            Resource::Device { device } => write!(f, "the device {}", device.escape_debug()),
            Resource::Cgroup { path } => {
                write!(f, "the cgroup {}", path.to_string_lossy().escape_debug())
            }
            Resource::Table { name } => write!(f, "the nftables table {}", name.escape_debug()),
            Resource::Router { target } => write!(f, "the router {}", target.escape_debug()),
            Resource::Forwarding => write!(f, "IPv4 forwarding"),
            Resource::AfterBoot { device } => write!(
                f,
                "the files that shape {} after a reboot",
                device.escape_debug()
            ),
        }
    }
}

/// Why something is claimed: what a second claimant and `status` are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purpose {
    /// The command line, for people.
    pub command: String,
    /// Whatever the command wants to find again in a claim that it kept.
    #[serde(default)]
    pub note: String,
}

impl Purpose {
    /// This process's command line.
    pub fn this_command() -> Purpose {
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        Purpose {
            command: unbloat_untrusted::command_line(words).join(" "),
            note: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_safe_and_tell_resources_apart() {
        let names = ["eth0", "eth0.5", "../../etc", "a b", "a%b", "é", "", "."];
        let stems: std::collections::BTreeSet<String> = names
            .iter()
            .map(|name| {
                let device = (*name).to_owned();
                Resource::Queues { device }.file_stem()
            })
            .collect();
        assert_eq!(stems.len(), names.len());
        assert!(stems.iter().all(|stem| !stem.contains(['/', '.', ' '])));
    }

    #[test]
    fn long_names_stay_apart_and_short_enough_for_a_file() {
        let stem = |end: &str| {
            let path = PathBuf::from("/x".repeat(500) + end);
            Resource::Cgroup { path }.file_stem()
        };
        assert_ne!(stem("a"), stem("b"));
        assert!(stem("a").len() < 200);
    }
}
