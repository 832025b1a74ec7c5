//! What came of a run.

use std::net::Ipv4Addr;
use unbloat_os::tcp_info::TcpInfo;
use unbloat_stats::LogHistogram;
use unbloat_units::{Both, Bytes, Delta, Direction, Time, named};
use unbloat_workload::{AnyWorkload, Conn};

/// Is told how connections do while the run goes on.
pub trait Watch {
    /// The state of the end of a connection that sends more; `id` numbers the connections of a run.
    fn sample(&mut self, at: Time, flow: u32, id: u32, sender: Direction, info: &TcpInfo);

    /// A connection ends.
    fn ended(&mut self, at: Time, flow: u32, conn: Conn, closed: &ConnectionEnd);

    /// An application read what came in that direction: payload of TCP, or of a datagram.
    fn read(&mut self, at: Time, flow: u32, direction: Direction, bytes: Bytes) {
        let _ = (at, flow, direction, bytes);
    }

    /// After each round of samples; true asks the run to end now.
    fn tick(&mut self, at: Time) -> bool {
        let _ = at;
        false
    }
}

/// A connection that has ended.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionEnd {
    pub client: (Ipv4Addr, u16),
    pub server: (Ipv4Addr, u16),
    pub ending: Ending,
    /// What the applications have read that a direction goes to.
    pub read: Both<Bytes>,
    /// The last state of its server's and its client's end, as far as they are known.
    pub ends: [Option<TcpInfo>; 2],
}

named! {
    /// Why a connection ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Ending {
        /// All was read, and the server has heard the client's FIN.
        Through = "through",
        /// Its client went away.
        Reset = "reset",
        /// The kernel gave it up or refused it.
        Failed = "failed",
        /// The flow or the run ended before.
        Cut = "cut",
    }
}

/// What came of a run.
pub struct Report {
    /// In the order of the plans.
    pub flows: Vec<FlowReport>,
    /// How late timers were, in µs.
    pub lateness_us: LogHistogram,
    /// CPU time of the thread.
    pub cpu: Delta,
    /// It was of the real-time class to the end.
    pub is_realtime: bool,
    /// When it ended.
    pub end: Time,
    /// It was ended before its time.
    pub is_cut: bool,
}

/// What came of one flow.
pub struct FlowReport {
    /// Knows how it went for its user.
    pub workload: AnyWorkload,
    pub connections: u64,
    /// Connections that the kernel gave up or refused.
    pub failed: u64,
    /// Datagrams that the kernel would not send.
    pub unsent: u64,
    /// The congestion control of its first connection, of the server's and the client's socket.
    pub congestion_control: [Option<String>; 2],
}
