//! Congestion controls that a client may ask for.
//!
//! The kernel lets privileged processes take any, and has them load modules by name; whoever runs this, strangers get what the kernel
//! allows to everybody.

use std::sync::LazyLock;

const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// Read once; none where the kernel does not say.
static KNOWN: LazyLock<Vec<String>> = LazyLock::new(|| {
    let text = std::fs::read_to_string(ALLOWED).unwrap_or_default();
    words(&text)
});

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

pub fn is_allowed(name: &str) -> bool {
    KNOWN.iter().any(|known| known == name)
}

/// For messages.
pub fn allowed() -> String {
    KNOWN.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_allows_to_everybody_is_allowed_and_nothing_else() {
        let text = std::fs::read_to_string(ALLOWED).unwrap();
        let available = "/proc/sys/net/ipv4/tcp_available_congestion_control";
        for name in words(&std::fs::read_to_string(available).unwrap()) {
            assert_eq!(is_allowed(&name), words(&text).contains(&name), "{name}");
        }
        assert!(!is_allowed("nosuch") && !is_allowed(""));
    }
}
