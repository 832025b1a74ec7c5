//! What every tool says of a connection, in the same words.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;

/// Two ends, the lower first, and how many connections between the same ports came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub low: SocketAddrV4,
    pub high: SocketAddrV4,
    pub earlier: u32,
}

/// One direction of data, from the sender `from`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Direction {
    pub packets: u64,
    pub payload_bytes: u64,
    pub unique_bytes: Option<u64>,
    pub retransmitted: u64,
    pub out_of_order: u64,
    /// Duplicate ACKs about this direction's data.
    pub dup_acks: u64,
    /// Packets of the receiver of this data with a window of zero.
    pub zero_windows: u64,
    pub rtt_samples: u64,
    pub rtt_min_ms: Option<f64>,
    pub rtt_avg_ms: Option<f64>,
    /// From this direction's SYN to the ACK of it.
    pub handshake_ms: Option<f64>,
}

/// Both directions: of the lower end's data, of the higher end's.
pub type Connection = [Direction; 2];

/// What one tool says of one capture.
pub type Flows = BTreeMap<Key, Connection>;

/// Hands out keys to connections in the order in which they began.
#[derive(Default)]
pub struct Keys {
    seen: BTreeMap<(SocketAddrV4, SocketAddrV4), u32>,
}

impl Keys {
    /// The key, and the index of the direction of the data that `a` sends.
    pub fn next(&mut self, a: SocketAddrV4, b: SocketAddrV4) -> (Key, usize) {
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        let count = self.seen.entry((low, high)).or_default();
        let earlier = *count;
        *count += 1;
        (Key { low, high, earlier }, usize::from(a != low))
    }
}
