//! Names of a bed's hosts, and the files from which programs learn them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};

/// Host `client` is `client.lab`.
const DOMAIN: &str = "lab";
/// Where programs learn in which order to ask whom, if they use the C library.
const SWITCH: &str = "/etc/nsswitch.conf";

/// The first address of each host in a bed.
#[derive(Debug, Default)]
pub(crate) struct Names(Mutex<BTreeMap<String, IpAddr>>);

impl Names {
    pub(crate) fn add(&self, role: &str, address: IpAddr) {
        self.known().entry(role.to_owned()).or_insert(address);
    }

    pub(crate) fn remove(&self, role: &str) {
        self.known().remove(role);
    }

    /// Path and text of each file that a command on a host is to see instead of the system's.
    pub(crate) fn files(&self) -> Vec<(&'static str, String)> {
        let asks_nobody = "# This bed has no name server: see /etc/hosts.\n".to_owned();
        let mut files = vec![
            ("/etc/hosts", self.hosts()),
            ("/etc/resolv.conf", asks_nobody),
        ];
        if let Ok(system) = fs::read_to_string(SWITCH) {
            files.push((SWITCH, switch(&system)));
        }
        files
    }

    fn hosts(&self) -> String {
        let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
        for (role, address) in &*self.known() {
            writeln!(text, "{address} {role}.{DOMAIN} {role}").expect("strings grow");
        }
        text
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, IpAddr>> {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The system's, except that no daemon outside of the bed is asked for hosts.
fn switch(system: &str) -> String {
    let lines = system.lines();
    let others = lines.filter(|line| !line.trim_start().starts_with("hosts:"));
    let others: String = others.flat_map(|line| [line, "\n"]).collect();
    others + "hosts: files dns\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_the_first_address_of_each_host_that_is_there() {
        let names = Names::default();
        names.add("client", [10, 45, 0, 1].into());
        names.add("client", [10, 46, 0, 1].into());
        names.add("server", [10, 99, 0, 1].into());
        names.remove("server");
        let (path, text) = names.files().swap_remove(0);
        assert_eq!(path, "/etc/hosts");
        assert!(
            text.ends_with("localhost\n10.45.0.1 client.lab client\n"),
            "{text}"
        );
    }

    #[test]
    fn daemons_outside_are_not_asked() {
        let system = "passwd: files\nhosts: files resolve [!UNAVAIL=return] dns\nnetworks: files";
        let ours = "passwd: files\nnetworks: files\nhosts: files dns\n";
        assert_eq!(switch(system), ours);
    }
}
