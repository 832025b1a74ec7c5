//! The kernel of tests in virtual time.

use std::sync::OnceLock;
use unbloat_uml::{GuestError, Kernel};

/// Why there is no kernel to run as a process, as an error; builds it if need be.
pub(crate) fn absence() -> Result<(), String> {
    static FOUND: OnceLock<Result<(), String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| match Kernel::ensure() {
        Ok(_) => Ok(()),
        Err(
            error @ (GuestError::Missing { .. }
            | GuestError::NoSource { .. }
            | GuestError::Architecture { .. }),
        ) => Err(error.to_string()),
        Err(error) => panic!("{error}"),
    });
    found.clone()
}
