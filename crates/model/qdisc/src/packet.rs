//! A packet as queues, links and devices see it.

use unbloat_units::{Bytes, Seq, Time};

/// Length of a packet at IP level, without any framing of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct IpLen(u32);

impl IpLen {
    pub const fn new(bytes: u32) -> IpLen {
        IpLen(bytes)
    }

    pub const fn as_u32(self) -> u32 {
        self.0
    }

    pub const fn bytes(self) -> Bytes {
        Bytes::new(self.0 as u64)
    }
}

/// Hash of addresses, ports and protocol: equal for packets of one flow and direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowHash(pub u32);

/// One end of the path: an address, or a number that stands for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(pub u32);

/// The ECN field (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    #[default]
    NotEct = 0,
    /// Identifies L4S traffic (RFC 9331).
    Ect1 = 1,
    Ect0 = 2,
    Ce = 3,
}

impl Ecn {
    /// Of the octet that IPv4 calls type of service, and IPv6 traffic class.
    pub const fn of_tos(tos: u8) -> Ecn {
        match tos & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Whether a queue may mark the packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }

    /// Whether the packet belongs in the low-latency queue (RFC 9331 section 5.1).
    pub const fn is_l4s(self) -> bool {
        matches!(self, Ecn::Ect1 | Ecn::Ce)
    }
}

/// Differentiated services code point (RFC 2474).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dscp(pub u8);

/// What an ACK filter needs to know of a TCP segment without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PureAck {
    pub ack: Seq,
    /// Bytes that its SACK blocks cover.
    pub sacked: u32,
    /// Carries SYN, FIN, RST, URG, CWR, ECE or an unknown option: must not be dropped for a later one.
    pub is_special: bool,
}

/// A packet in transit. What it carries stays with whoever drives the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Under which the driver keeps the rest: a slot of the simulator, a buffer of the emulator.
    pub handle: u32,
    pub len: IpLen,
    pub flow: FlowHash,
    pub source: Host,
    pub destination: Host,
    pub ecn: Ecn,
    pub dscp: Dscp,
    pub pure_ack: Option<PureAck>,
    /// When it entered the queue that it stands in; set by the queue.
    pub enqueued: Time,
}

impl Packet {
    /// A packet of best-effort traffic without ECN.
    pub const fn new(handle: u32, len: IpLen, flow: FlowHash) -> Packet {
        Packet {
            handle,
            len,
            flow,
            source: Host(0),
            destination: Host(0),
            ecn: Ecn::NotEct,
            dscp: Dscp(0),
            pure_ack: None,
            enqueued: Time::from_ns(0),
        }
    }
}
