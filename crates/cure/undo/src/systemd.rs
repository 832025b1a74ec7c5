//! systemd, which is asked by `systemctl` where it runs.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use tracing::debug;

/// As sd_booted(3) looks for it.
const RUNS: &str = "/run/systemd/system";
/// Of `systemctl stop`, for a unit that it does not know.
const NOT_LOADED: i32 = 5;

pub(crate) fn reload() -> io::Result<()> {
    ask(&["daemon-reload"], &[])
}

/// Stops a unit of unbloat.
pub(crate) fn stop(name: &str) -> io::Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:@\\-".contains(&byte);
    if !name.starts_with("unbloat-") || !name.bytes().all(is_plain) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // A command of the unit would wait for its own end.
    match is_within(name) {
        true => Ok(()),
        false => ask(&["stop", name], &[NOT_LOADED]),
    }
}

/// Whether this process is of a unit.
fn is_within(name: &str) -> bool {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    is_member(&groups, name)
}

fn is_member(groups: &str, name: &str) -> bool {
    groups
        .lines()
        .any(|line| line.split('/').any(|part| part == name))
}

fn ask(words: &[&str], fine: &[i32]) -> io::Result<()> {
    if !Path::new(RUNS).exists() {
        return Ok(());
    }
    let mut command = Command::new("systemctl");
    let output = command.args(words).output()?;
    debug!(?command, code = output.status.code(), "command");
    let is_fine = output
        .status
        .code()
        .is_some_and(|code| fine.contains(&code));
    match output.status.success() || is_fine {
        true => Ok(()),
        false => Err(io::Error::other(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_a_unit_knows_its_unit() {
        let groups = "0::/system.slice/unbloat-shaper-eth0.service\n";
        assert!(is_member(groups, "unbloat-shaper-eth0.service"));
        assert!(!is_member(groups, "unbloat-shaper-eth0"));
        assert!(!is_member("0::/\n", "unbloat-shaper-eth0.service"));
    }

    #[test]
    fn units_of_others_are_not_stopped() {
        for name in ["ssh.service", "", "unbloat-x ssh", "--all", "unbloat-é"] {
            assert_eq!(stop(name).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
