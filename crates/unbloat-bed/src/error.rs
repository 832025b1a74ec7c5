//! What can go wrong around a bed.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

/// Why a bed could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BedError {
    #[error(
        "a bed makes network namespaces, and the system forbids it: run as root (in a container, one that has CAP_SYS_ADMIN and CAP_NET_ADMIN)"
    )]
    NoPrivilege,
    #[error("this kernel has no network namespaces ({source}): it needs CONFIG_NET_NS")]
    NoNamespaces { source: io::Error },
    #[error("could not make network namespace {name}: {source}")]
    Make { name: String, source: io::Error },
    #[error("could not enter network namespace {name}: {source}")]
    Enter { name: String, source: io::Error },
    #[error("\"{role}\" is no name of a host: 1 to 63 small letters, digits and -")]
    Role { role: String },
    #[error("there is a host {name} already: give each of a bed's hosts a name of its own")]
    Taken { name: String },
    #[error("host {host} has no device \"{device}\"")]
    NoDevice { host: String, device: String },
    #[error("{host}: could not {doing}: {source}{}", said(.detail))]
    Netlink {
        host: String,
        doing: String,
        source: io::Error,
        /// What the kernel said about it.
        detail: Option<String>,
    },
    #[error(
        "there is no /dev/net/tun ({source}): load the module tun (modprobe tun), or give the container the device"
    )]
    NoTun { source: io::Error },
    #[error("could not make TUN device {name}: {source}")]
    Tun { name: String, source: io::Error },
    #[error("{host}: could not set {key} to \"{value}\": {source}")]
    Sysctl {
        host: String,
        key: String,
        value: String,
        source: io::Error,
    },
    #[error("host {host} could not serve names at {address}: {source}; give it the address first")]
    NameServer {
        host: String,
        address: IpAddr,
        source: io::Error,
    },
    #[error("{host}: could not switch the offloads of {device} off: {source}")]
    Offload {
        host: String,
        device: String,
        source: io::Error,
    },
    #[error("the queue \"{queue}\": {problem}")]
    Queue { queue: String, problem: String },
    #[error(
        "this kernel has no queue \"{kind}\" (it has {}); run in the virtual lab, whose kernel has it, or load the module sch_{kind}",
        known.join(", ")
    )]
    NoQueue {
        kind: String,
        known: Vec<&'static str>,
    },
    #[error("could not start a thread: {source}")]
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
