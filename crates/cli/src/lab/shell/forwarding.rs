//! Lets this host hand on what comes from a shell, until the shell ends.

use crate::exit::Failure;
use crate::kernel::of_kernel;
use crate::recovery;
use std::fs;
use std::path::{Path, PathBuf};
use unbloat_undo::{Claim, Purpose, Resource, Step};

const SWITCH: &str = "/proc/sys/net/ipv4/ip_forward";
const DEVICES: &str = "/proc/sys/net/ipv4/conf";

/// Switches IPv4 forwarding on; dropped, the claim puts it back. None: it is on already, and not because of another shell, which
/// would switch it off.
///
/// IPv6 is left alone: a host that forwards it no longer listens to routers, and would lose its own default route.
pub fn on() -> Result<Option<Claim>, Failure> {
    let journals = recovery::journals()?;
    let is_held = journals
        .holdings()?
        .iter()
        .any(|holding| holding.resource == Resource::Forwarding);
    if is_on(Path::new(SWITCH)) && !is_held {
        return Ok(None);
    }
    let mut claim = journals.take(&Resource::Forwarding, &Purpose::this_command())?;
    // The switch sets all devices: what single ones had is put back after it.
    for device in devices().filter(|path| is_on(path)) {
        claim.before(Step::setting(&device)?)?;
    }
    claim.before(Step::setting(Path::new(SWITCH))?)?;
    #[expect(clippy::disallowed_methods, reason = "a setting of the kernel")]
    fs::write(SWITCH, "1").map_err(|error| format!("--internet: cannot switch IPv4 forwarding on: {error}; run: sysctl -w net.ipv4.ip_forward=1"))?;
    Ok(Some(claim))
}

fn devices() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(DEVICES).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    let of_devices = names.filter(|name| name != "all" && name != "default");
    of_devices.map(|name| Path::new(DEVICES).join(name).join("forwarding"))
}

fn is_on(path: &Path) -> bool {
    of_kernel(path).is_ok_and(|value| value.trim() == "1")
}
