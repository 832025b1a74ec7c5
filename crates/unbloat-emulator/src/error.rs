//! What can go wrong before packets flow.

use std::io;

/// Why an emulator could not be built or run.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    #[error(
        "port {port} is no TUN device ({source}); give the descriptor on which TUNSETIFF made one"
    )]
    NotTun { port: usize, source: io::Error },
    #[error(
        "port {port} is a TAP device or has packet information headers; make it with IFF_TUN and IFF_NO_PI"
    )]
    NotBare { port: usize },
    #[error("cannot set up port {port}: {source}")]
    Port { port: usize, source: io::Error },
    #[error("the emulator wants a port on each side, client and server; {missing} has none")]
    NoPort { missing: &'static str },
    #[error("{prefix} is an address of two ports on the same side; give each port its own")]
    Ambiguous { prefix: ipnet::IpNet },
    #[error("cannot wait for devices: {0}")]
    Wait(io::Error),
}
