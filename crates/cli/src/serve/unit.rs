//! The unit that `unbloat serve --unit` prints.

use crate::unit::{program, quoted};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// `words` are the command's arguments, `files` the options whose files only root may read: systemd passes them as credentials.
/// A server that announces itself lists the interfaces of the host.
pub fn file(
    words: impl Iterator<Item = String>,
    files: &[(&str, &Option<PathBuf>)],
    announces: bool,
) -> String {
    let mut line = program();
    let mut secret = None;
    for word in words.filter(|word| word != "--unit") {
        let (option, value) = match word.split_once('=') {
            Some((option, _)) => (option.to_owned(), true),
            None => (word.clone(), false),
        };
        if secret.take().is_some() {
            continue;
        }
        match files.iter().find(|(name, _)| *name == option) {
            Some((name, _)) => {
                let _ = write!(line, " {name} ${{CREDENTIALS_DIRECTORY}}/{}", &name[2..]);
                secret = (!value).then_some(());
            }
            None => {
                let _ = write!(line, " {}", quoted(&word));
            }
        }
    }
    let mut credentials = String::new();
    for (name, path) in files {
        if let Some(path) = path {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            let _ = writeln!(
                credentials,
                "LoadCredential={}:{}",
                &name[2..],
                plain(&path)
            );
        }
    }
    let families = match announces {
        true => "AF_INET AF_INET6 AF_NETLINK AF_UNIX",
        false => "AF_INET AF_INET6 AF_UNIX",
    };
    UNIT.replace("COMMAND", &line)
        .replace("FAMILIES", families)
        .replace("CREDENTIALS\n", &credentials)
}

/// A path with `%` escaped for systemd.
fn plain(path: &Path) -> String {
    path.display().to_string().replace('%', "%%")
}

/// Sandboxed: only sockets are allowed. The capabilities are for ports below 1024 and for the echo's priority over load.
const UNIT: &str = "\
[Unit]
Description=Server for tests of latency under load (unbloat serve)
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=COMMAND
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2
CREDENTIALS
DynamicUser=yes
StateDirectory=unbloat-serve
AmbientCapabilities=CAP_NET_BIND_SERVICE CAP_SYS_NICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE CAP_SYS_NICE
LimitNOFILE=65536
MemoryMax=1536M
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
ProtectProc=invisible
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
PrivateDevices=yes
PrivateTmp=yes
RestrictAddressFamilies=FAMILIES
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
UMask=0077

[Install]
WantedBy=multi-user.target
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_tokens_are_handed_over_and_the_rest_is_as_it_was_typed() {
        let words = [
            "serve",
            "--unit",
            "--key",
            "/etc/k%.pem",
            "--cert=/etc/c.pem",
            "--name",
            "$x",
        ];
        let key = Some(PathBuf::from("/etc/k%.pem"));
        let cert = Some(PathBuf::from("/etc/c.pem"));
        let files = [("--cert", &cert), ("--key", &key), ("--token-file", &None)];
        let text = file(words.map(str::to_owned).into_iter(), &files, false);
        let line = text.lines().find(|line| line.starts_with("ExecStart="));
        assert!(line.unwrap().ends_with(
            r#" "serve" --key ${CREDENTIALS_DIRECTORY}/key --cert ${CREDENTIALS_DIRECTORY}/cert "--name" "$$x""#
        ));
        assert!(text.contains(
            "LoadCredential=cert:/etc/c.pem\nLoadCredential=key:/etc/k%%.pem\nDynamicUser=yes\n"
        ));
        assert!(text.contains("\nRestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX\n"));
        let announced = file(std::iter::once("serve".to_owned()), &[], true);
        assert!(announced.contains(" AF_NETLINK "));
    }
}
