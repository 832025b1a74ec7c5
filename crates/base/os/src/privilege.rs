//! What to do about a missing privilege.

use std::io;

/// What to add to the message of an error: that root is needed, if a privilege was missing, otherwise nothing.
pub fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; this needs root",
        _ => "",
    }
}

/// Capabilities that commands need (`include/uapi/linux/capability.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    NetAdmin = 12,
    NetRaw = 13,
    SysAdmin = 21,
    Perfmon = 38,
    Bpf = 39,
}

/// Whether this thread has a capability in force (capabilities(7)). Root in a container may not have it.
pub fn may(capability: Capability) -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    holds(&status, capability)
}

fn holds(status: &str, capability: Capability) -> bool {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    bits.is_some_and(|bits| bits & 1 << capability as u32 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_from_the_set_in_force() {
        let raw = "CapPrm:\t000001ffffffffff\nCapEff:\t0000000000002000\n";
        assert!(holds(raw, Capability::NetRaw));
        assert!(!holds(raw, Capability::NetAdmin) && !holds(raw, Capability::Bpf));
        assert!(!holds("", Capability::NetRaw));
    }

    #[test]
    fn only_a_missing_privilege_asks_for_root() {
        for (number, expected) in [(1, true), (13, true), (2, false), (28, false)] {
            let error = io::Error::from_raw_os_error(number);
            assert_eq!(!advice(&error).is_empty(), expected, "{error}");
        }
    }
}
