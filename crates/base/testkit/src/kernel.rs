//! The kernel of tests in virtual time.

use std::sync::OnceLock;
use unbloat_uml::{GuestError, Kernel};

/// Whether there is a kernel to run as a process; builds it if need be. Only what an ordinary user lacks is a reason to skip:
/// a build that fails is a failure.
pub fn has_kernel() -> bool {
    static ABSENCE: OnceLock<Option<String>> = OnceLock::new();
    let absence = ABSENCE.get_or_init(|| match Kernel::ensure() {
        Ok(_) => None,
        Err(
            error @ (GuestError::Missing { .. }
            | GuestError::NoSource { .. }
            | GuestError::Architecture { .. }),
        ) => Some(error.to_string()),
        Err(error) => panic!("{error}"),
    });
    if let Some(reason) = absence {
        crate::skip(reason);
    }
    absence.is_none()
}
