//! systemd units that run this program.

use crate::print::note;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Where a program is to be that units start.
const INSTALLED: &str = "/usr/local/bin/unbloat";

/// This program, as the first word of a unit with `ProtectHome=` and `PrivateTmp=`. One that the unit would not see is to be installed.
pub fn program() -> String {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from(INSTALLED));
    if !is_hidden(&program) {
        return quoted(&program.to_string_lossy());
    }
    note!(
        "unbloat: the unit cannot start {program}, because ProtectHome and PrivateTmp hide it; it starts {INSTALLED}. Install that: sudo install -m 755 {program} {INSTALLED}",
        program = program.display()
    );
    quoted(INSTALLED)
}

/// A unit that watches interfaces as root and runs this command again: `unit` with its COMMAND and HARDENED. `words` are the arguments of
/// this one.
pub fn repeated(unit: &str, words: impl Iterator<Item = String>) -> String {
    let mut line = program();
    for word in words.filter(|word| word != "--unit") {
        let _ = write!(line, " {}", quoted(&word));
    }
    unit.replace("HARDENED\n", HARDENED)
        .replace("COMMAND", &line)
}

fn is_hidden(program: &Path) -> bool {
    const HIDDEN: [&str; 5] = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];
    HIDDEN.iter().any(|folder| program.starts_with(folder))
}

/// What a unit that watches interfaces as root need not have. systemd adds a name of a call after it has taken its set away.
const HARDENED: &str = "\
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
PrivateDevices=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_PACKET AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
KeyringMode=private
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallFilter=bpf perf_event_open
SystemCallErrorNumber=EPERM
UMask=0027
";

/// A word quoted for systemd, without expansion.
pub fn quoted(word: &str) -> String {
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' => quoted.push_str("%%"),
            '$' => quoted.push_str("$$"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\x{:02x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_folders_and_temporary_files_are_hidden() {
        for path in ["/home/ann/unbloat", "/root/bin/unbloat", "/tmp/unbloat"] {
            assert!(is_hidden(Path::new(path)), "{path}");
        }
        for path in [INSTALLED, "/homes/unbloat"] {
            assert!(!is_hidden(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn names_go_into_a_unit_as_they_are() {
        assert_eq!(quoted("wan0"), "\"wan0\"");
        assert_eq!(quoted("a\" $(x) %n\n\\"), "\"a\\\" $$(x) %%n\\x0a\\\\\"");
    }
}
