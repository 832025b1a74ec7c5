//! Network interfaces of this host.

use unbloat_undo::is_device;

#[derive(Debug, thiserror::Error)]
#[error("there is no interface {0:?}; `ip link` lists them")]
pub struct NoInterface(String);

/// Fails if there is no such interface. If the kernel does not answer, the command that uses it finds out.
pub fn check(name: &str) -> Result<(), NoInterface> {
    match is_device(name).unwrap_or(true) {
        true => Ok(()),
        false => Err(NoInterface(name.to_owned())),
    }
}
