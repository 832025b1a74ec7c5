//! What is to be run, where, over which sockets.

use fastrand::Rng;
use std::fs::File;
use std::net::Ipv4Addr;
use unbloat_units::{Bytes, Delta, Time};
use unbloat_workload::Config;

/// A host: where sockets are opened, and under which address.
#[derive(Debug)]
pub struct Site {
    /// Its network namespace; none: that of the thread.
    pub namespace: Option<File>,
    pub address: Ipv4Addr,
}

/// One workload, and between which sites it runs.
#[derive(Clone, Debug)]
pub struct Plan {
    pub name: String,
    pub workload: Config,
    /// From when on its metrics will be asked for.
    pub counts_from: Time,
    pub start: Time,
    pub stop: Option<Time>,
    /// Numbers of its sites.
    pub client: usize,
    pub server: usize,
    pub dscp: u8,
    /// What is random in the workload.
    pub rng: Rng,
    /// Sockets at the server, which send the downlink's data, then at the client.
    pub tcp: [Tcp; 2],
}

/// What sockets of one end are given. `None` leaves a setting to the kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tcp {
    /// As the kernel names it.
    pub congestion_control: Option<String>,
    /// `SO_SNDBUF`, as memory of the kernel; switches off its adaption.
    pub send_buffer: Option<Bytes>,
    /// `SO_RCVBUF`, likewise.
    pub receive_buffer: Option<Bytes>,
    /// `TCP_WINDOW_CLAMP`: the largest window that is offered.
    pub window_clamp: Option<Bytes>,
    /// `TCP_MAXSEG`.
    pub mss: Option<u32>,
}

/// What holds for the whole run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub duration: Delta,
    /// Between looks at `TCP_INFO`.
    pub sample_every: Delta,
    /// Long transfers wake their reader when so much waits (`SO_RCVLOWAT`). More would make it read so late that the window
    /// suffers: at 256 kB it costs 7 % of goodput, and at 32 kB a short download keeps half of the queue that it else would.
    pub read_at_least: Bytes,
    /// Ask for the real-time class. It is given up by a thread that works too much for it.
    pub is_realtime: bool,
}

impl Settings {
    pub fn new(duration: Delta) -> Settings {
        Settings {
            duration,
            sample_every: Delta::ms(10),
            read_at_least: Bytes::kib(16),
            is_realtime: false,
        }
    }
}

/// The server's port of flow 0, TCP and UDP; the others count on from it. A flow's client uses the same port for UDP and any port
/// for TCP.
pub const FIRST_PORT: u16 = 10_000;

/// The server's port of a flow.
pub fn server_port(flow: u32) -> u16 {
    FIRST_PORT.wrapping_add(flow as u16)
}
