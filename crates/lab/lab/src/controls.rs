//! Which congestion controls this kernel has.

use crate::error::LabError;
use crate::mapping::ControlName;
use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_congestion;
use rustix::net::{AddressFamily, SocketType, socket};
use std::collections::BTreeSet;

/// Refuses congestion controls that sockets of this kernel cannot choose, before anything is built.
///
/// A socket is asked, because the kernel then loads a module that lies ready, and no list names those.
pub(crate) fn check(names: &BTreeSet<ControlName>) -> Result<(), LabError> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)
        .map_err(|e| LabError::Socket(e.into()))?;
    for name in names {
        // Of any other fault the hosts' sockets say more.
        if set_tcp_congestion(&socket, name.kernel) == Err(Errno::NOENT) {
            return Err(LabError::NoControl {
                scenario: name.scenario,
                kernel: name.kernel,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_that_the_kernel_lacks_is_refused_with_its_module() {
        let asked = |kernel| {
            let scenario = "newest";
            check(&[ControlName { scenario, kernel }].into())
        };
        assert!(asked("reno").is_ok());
        let error = asked("nonesuch").unwrap_err().to_string();
        assert!(error.contains("modprobe tcp_nonesuch"), "{error}");
        assert!(error.contains("--virtual"), "{error}");
    }
}
