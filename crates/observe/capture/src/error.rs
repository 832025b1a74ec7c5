//! Why a capture cannot be read at all.

use std::io;

/// Why a capture cannot be read at all. Damage further in is no error: it ends that input and is
/// told by [`Notes`](crate::Notes).
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("cannot open {input}: {source}{}", hint(source))]
    Open { input: String, source: io::Error },

    #[error("{input} is a directory; give its files, for example {input}/*.pcap")]
    Directory { input: String },

    #[error("no file matches {pattern:?}")]
    NoMatch { pattern: String },

    #[error("{pattern:?} is not a valid file name pattern: {reason}")]
    Pattern { pattern: String, reason: String },

    #[error("{input} is empty: it does not even contain a capture header")]
    Empty { input: String },

    #[error("{input} is not a packet capture: it {looks_like}; {ACCEPTED}")]
    NotACapture { input: String, looks_like: String },

    #[error("{input} is pcap version {major}.{minor}; versions 2.0 to 2.4 are supported")]
    PcapVersion {
        input: String,
        major: u16,
        minor: u16,
    },

    #[error("there is no network interface {interface:?}; `ip link` lists them")]
    NoInterface { interface: String },

    #[error(
        "capturing on {interface} needs CAP_NET_RAW: run as root, \
         or allow one group to capture: `f=$(command -v unbloat); \
         sudo chgrp GROUP $f && sudo chmod 750 $f && sudo setcap cap_net_raw+ep $f`"
    )]
    NotPermitted { interface: String },

    #[error(
        "{interface} has hardware type {arphrd}, whose frames are not supported; \
         capture on the Ethernet, PPP or tunnel interface that carries the IP packets"
    )]
    HardwareType { interface: String, arphrd: u16 },

    #[error("capturing on {interface} failed: {action}: {source}")]
    Live {
        interface: String,
        action: &'static str,
        source: io::Error,
    },
}

const ACCEPTED: &str = "supported formats are pcap (micro- and nanoseconds) and pcapng, \
     uncompressed or compressed with gzip, zstd or lz4";

fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => {
            "; captures made by root belong to root: chown it or use sudo"
        }
        io::ErrorKind::NotFound => "; check the path",
        _ => "",
    }
}
