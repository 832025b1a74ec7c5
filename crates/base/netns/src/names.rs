//! Names of a bed's hosts, and the files from which programs learn them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};

/// Host `client` is `client.lab`.
pub(crate) const DOMAIN: &str = "lab";
/// Where programs learn in which order to ask whom, if they use the C library.
const SWITCH: &str = "/etc/nsswitch.conf";

/// Who has which addresses in a bed, and whom to ask.
#[derive(Debug, Default)]
pub(crate) struct Names(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    addresses: BTreeMap<String, Vec<IpAddr>>,
    server: Option<IpAddr>,
}

impl Names {
    pub(crate) fn add(&self, role: &str, address: IpAddr) {
        let mut known = self.known();
        let addresses = known.addresses.entry(role.to_owned()).or_default();
        addresses.push(address);
    }

    pub(crate) fn remove(&self, role: &str) {
        self.known().addresses.remove(role);
    }

    pub(crate) fn ask_at(&self, server: Option<IpAddr>) {
        self.known().server = server;
    }

    /// Addresses of `client.lab`; `None` if there is no such host.
    pub(crate) fn look_up(&self, name: &str) -> Option<Vec<IpAddr>> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let role = name.strip_suffix(DOMAIN)?.strip_suffix('.')?;
        self.known().addresses.get(role).cloned()
    }

    /// Path and text of each file that a command in the host is to see instead of the system's.
    pub(crate) fn files(&self, role: &str) -> Vec<(&'static str, String)> {
        let mut files = vec![
            ("/etc/hosts", self.hosts(role)),
            ("/etc/resolv.conf", self.resolv_conf()),
        ];
        if let Ok(system) = fs::read_to_string(SWITCH) {
            files.push((SWITCH, switch(&system)));
        }
        files
    }

    /// All hosts as long as nobody can be asked for them, and always the host itself.
    fn hosts(&self, own: &str) -> String {
        let known = self.known();
        let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
        for (role, addresses) in &known.addresses {
            if known.server.is_none() || role == own {
                for address in addresses.iter().take(1) {
                    writeln!(text, "{address} {role}.{DOMAIN} {role}").expect("strings grow");
                }
            }
        }
        text
    }

    fn resolv_conf(&self) -> String {
        match self.known().server {
            Some(server) => format!("nameserver {server}\nsearch {DOMAIN}\n"),
            None => "# This bed has no name server: see /etc/hosts.\n".to_owned(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
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

    fn names() -> Names {
        let names = Names::default();
        names.add("client", [10, 45, 0, 1].into());
        names.add("server", [10, 99, 0, 1].into());
        names
    }

    fn file(names: &Names, path: &str) -> String {
        let files = names.files("client");
        files.into_iter().find(|(p, _)| *p == path).unwrap().1
    }

    #[test]
    fn hosts_are_looked_up_in_their_domain_only() {
        let names = names();
        let server = Some(vec![IpAddr::from([10, 99, 0, 1])]);
        assert_eq!(names.look_up("Server.lab."), server);
        assert_eq!(names.look_up("server"), None);
        assert_eq!(names.look_up("other.lab"), None);
        names.remove("server");
        assert_eq!(names.look_up("server.lab"), None);
    }

    #[test]
    fn without_a_name_server_the_file_names_all_hosts() {
        let names = names();
        assert!(file(&names, "/etc/hosts").contains("10.99.0.1 server.lab server\n"));
        assert!(!file(&names, "/etc/resolv.conf").contains("nameserver"));
    }

    #[test]
    fn with_a_name_server_others_are_asked_for() {
        let names = names();
        names.ask_at(Some([10, 99, 0, 1].into()));
        let hosts = file(&names, "/etc/hosts");
        assert!(hosts.contains("10.45.0.1 client.lab") && !hosts.contains("server"));
        assert!(file(&names, "/etc/resolv.conf").starts_with("nameserver 10.99.0.1\n"));
    }

    #[test]
    fn daemons_outside_are_not_asked() {
        let system = "passwd: files\nhosts: files resolve [!UNAVAIL=return] dns\nnetworks: files";
        let ours = "passwd: files\nnetworks: files\nhosts: files dns\n";
        assert_eq!(switch(system), ours);
    }
}
