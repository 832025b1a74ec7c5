//! What to do about a missing privilege.

use std::io;

/// What to add to the message of an error: that root is needed, if a privilege was missing, otherwise nothing.
pub fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; this needs root",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_privilege_asks_for_root() {
        for (number, expected) in [(1, true), (13, true), (2, false), (28, false)] {
            let error = io::Error::from_raw_os_error(number);
            assert_eq!(!advice(&error).is_empty(), expected, "{error}");
        }
    }
}
