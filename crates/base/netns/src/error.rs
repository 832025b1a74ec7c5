//! What can go wrong around a bed.

use std::io;
use std::path::PathBuf;

/// Why a bed could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BedError {
    #[error(
        "cannot create network namespaces: operation not permitted; run as root (a container needs CAP_SYS_ADMIN and CAP_NET_ADMIN)"
    )]
    NoPrivilege,
    #[error("this kernel has no network namespaces ({source}); it needs CONFIG_NET_NS")]
    NoNamespaces { source: io::Error },
    #[error("cannot create network namespace {name}: {source}")]
    Make { name: String, source: io::Error },
    #[error("cannot enter network namespace {name}: {source}")]
    Enter { name: String, source: io::Error },
    #[error("\"{role}\" is not a valid host name: use 1 to 63 lower-case letters, digits and -")]
    Role { role: String },
    #[error("there is already a host {name}; give each host of a bed a unique name")]
    Taken { name: String },
    #[error("host {host} has no device \"{device}\"")]
    NoDevice { host: String, device: String },
    #[error("{host}: cannot {doing}: {source}{}", said(.detail))]
    Netlink {
        host: String,
        doing: String,
        source: io::Error,
        /// What the kernel said about it.
        detail: Option<String>,
    },
    #[error(
        "cannot open /dev/net/tun ({source}); load the module tun (modprobe tun) or pass the device to the container"
    )]
    NoTun { source: io::Error },
    #[error("cannot create TUN device {name}: {source}")]
    Tun { name: String, source: io::Error },
    #[error("{host}: cannot set {key} to \"{value}\": {source}")]
    Sysctl {
        host: String,
        key: String,
        value: String,
        source: io::Error,
    },
    #[error("{host}: cannot disable the offloads of {device}: {source}")]
    Offload {
        host: String,
        device: String,
        source: io::Error,
    },
    #[error("queue \"{queue}\": {problem}")]
    Queue { queue: String, problem: String },
    #[error(
        "this kernel has no queue discipline \"{kind}\" (available: {}); use the virtual lab, whose kernel has it, or load the module sch_{kind}",
        known.join(", ")
    )]
    NoQueue {
        kind: String,
        known: Vec<&'static str>,
    },
    #[error(
        "{host}: cannot translate addresses: {source}; the kernel needs nftables with nat and masquerade (modules nft_nat and nft_masq, Linux 5.12 or newer)"
    )]
    Masquerade { host: String, source: io::Error },
    #[error("cannot start a thread: {source}")]
    Thread { source: io::Error },
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

fn said(detail: &Option<String>) -> String {
    detail.as_ref().map_or(String::new(), |d| format!(" ({d})"))
}

/// Names the file in an I/O error.
pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> BedError {
    let path = path.into();
    move |source| BedError::File { path, source }
}
