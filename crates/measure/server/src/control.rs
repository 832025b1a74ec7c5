//! Congestion controls that a client may ask for.
//!
//! The kernel lets privileged processes take any, and has them load modules by name; whoever runs this, strangers get what the kernel
//! allows to everybody, and what the operator names beside.

const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

pub struct Controls(Vec<String>);

impl Controls {
    /// The kernel's list, read now, and `more`.
    pub fn new(more: &[String]) -> Controls {
        let text = std::fs::read_to_string(ALLOWED).unwrap_or_default();
        let allowed = text.split_whitespace().map(str::to_owned);
        Controls(allowed.chain(more.iter().cloned()).collect())
    }

    pub fn allow(&self, name: &str) -> bool {
        self.0.iter().any(|known| known == name)
    }

    /// For messages.
    pub fn names(&self) -> String {
        self.0.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_allows_to_everybody_is_allowed_and_what_is_named() {
        let read = |name: &str| {
            let path = format!("/proc/sys/net/ipv4/tcp_{name}_congestion_control");
            let text = std::fs::read_to_string(path).unwrap();
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let (controls, allowed) = (Controls::new(&[]), read("allowed"));
        for name in read("available") {
            assert_eq!(controls.allow(&name), allowed.contains(&name), "{name}");
        }
        assert!(!controls.allow("nosuch") && !controls.allow(""));
        assert!(Controls::new(&["nosuch".to_owned()]).allow("nosuch"));
    }
}
