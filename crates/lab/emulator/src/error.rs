//! What can go wrong before packets flow.

use std::io;

/// Why an emulator could not be built or run.
#[derive(Debug, thiserror::Error)]
pub enum EmulatorError {
    #[error(
        "port {port} is not a TUN device ({source}); pass a file descriptor set up with TUNSETIFF"
    )]
    NotTun { port: usize, source: io::Error },
    #[error(
        "port {port} is a TAP device or has packet information headers; create it with IFF_TUN and IFF_NO_PI"
    )]
    NotBare { port: usize },
    #[error("cannot set up port {port}: {source}")]
    Port { port: usize, source: io::Error },
    #[error(
        "the emulator needs a port on the client side and on the server side; {missing} has none"
    )]
    NoPort { missing: &'static str },
    #[error("{prefix} is assigned to two ports on the same side; give each port its own address")]
    Ambiguous { prefix: ipnet::IpNet },
    #[error("port {port}: the kernel's queue did not give out a packet: {source}")]
    Gate { port: usize, source: io::Error },
    #[error("cannot wait for devices: {0}")]
    Wait(io::Error),
}
