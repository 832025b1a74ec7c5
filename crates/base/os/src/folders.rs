//! Folders of the user (XDG Base Directory Specification) and of a service (systemd.exec(5)).

use std::ffi::OsString;
use std::path::PathBuf;

/// Where data goes that nobody gave a place: `$STATE_DIRECTORY` of a service, else `unbloat` in `$XDG_DATA_HOME` (by default
/// `~/.local/share`), else, for processes without a home, `/var/lib/unbloat`.
pub fn data() -> PathBuf {
    data_of(|name| std::env::var_os(name))
}

/// `unbloat` in `$XDG_CONFIG_HOME` (by default `~/.config`); None without a home.
pub fn config() -> Option<PathBuf> {
    config_of(|name| std::env::var_os(name))
}

fn data_of(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let own = || own(&variable, "XDG_DATA_HOME", ".local/share");
    let found = absolute(&variable, "STATE_DIRECTORY").or_else(own);
    found.unwrap_or(PathBuf::from("/var/lib/unbloat"))
}

fn config_of(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    own(&variable, "XDG_CONFIG_HOME", ".config")
}

fn own(variable: impl Fn(&str) -> Option<OsString>, name: &str, usual: &str) -> Option<PathBuf> {
    let home = || absolute(&variable, "HOME").map(|home| home.join(usual));
    let base = absolute(&variable, name).or_else(home)?;
    Some(base.join("unbloat"))
}

/// By the specification, a relative path is to be ignored.
fn absolute(variable: impl Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    let dir = variable(name).map(PathBuf::from);
    dir.filter(|dir| dir.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<'v>(variables: &'v [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + 'v {
        |asked| {
            let found = variables.iter().find(|(name, _)| *name == asked);
            found.map(|(_, value)| OsString::from(value))
        }
    }

    #[test]
    fn the_folders_follow_the_specification() {
        let home = ("HOME", "/home/a");
        let of = |variables: &[(&str, &str)]| data_of(with(variables)).display().to_string();
        assert_eq!(of(&[home]), "/home/a/.local/share/unbloat");
        assert_eq!(of(&[home, ("XDG_DATA_HOME", "/data")]), "/data/unbloat");
        // "All paths [...] must be absolute. [...] should consider the path invalid and ignore it."
        assert_eq!(of(&[home, ("XDG_DATA_HOME", "data")]), of(&[home]));
        let service = ("STATE_DIRECTORY", "/var/lib/unbloat-serve");
        assert_eq!(of(&[home, service]), "/var/lib/unbloat-serve");
        assert_eq!(of(&[]), "/var/lib/unbloat");
        let config = config_of(with(&[home]));
        assert_eq!(config, Some(PathBuf::from("/home/a/.config/unbloat")));
        assert_eq!(config_of(with(&[])), None);
    }
}
