//! systemd units that run this program.

use std::fmt::Write;
use std::path::PathBuf;

/// This program, as a unit's first word.
pub fn program() -> String {
    let program = std::env::current_exe();
    let program = program.unwrap_or_else(|_| PathBuf::from("/usr/local/bin/unbloat"));
    quoted(&program.to_string_lossy())
}

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
    fn names_go_into_a_unit_as_they_are() {
        assert_eq!(quoted("wan0"), "\"wan0\"");
        assert_eq!(quoted("a\" $(x) %n\n\\"), "\"a\\\" $$(x) %%n\\x0a\\\\\"");
    }
}
