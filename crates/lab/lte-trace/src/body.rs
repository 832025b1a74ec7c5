//! What a packet carries from one end to the other, and what its headers show on the way.

use unbloat_tcp::{Ack, Segment};
use unbloat_units::{Direction, Seq};

/// The parts of a TCP header that depend on when the packet was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Header {
    pub ip_id: u16,
    /// Offset behind what was sent before.
    pub next: u64,
    /// Offset in the other direction's stream, and the window behind it in bytes.
    pub ack: u64,
    pub window: u32,
    /// TSval and TSecr, in milliseconds.
    pub timestamps: Option<(Seq, Seq)>,
}

/// What it is. Directions are those in which it travels.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Syn,
    SynAck,
    /// The third packet of the handshake.
    Established,
    Data(Segment),
    Ack(Ack),
    /// Offset of the FIN in its stream.
    Fin(u64),
    /// Acknowledges the server's FIN.
    LastAck(u64),
    Rst(u64),
    /// Look-up of a name, and its answer.
    Query,
    Answer,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    pub flow: u32,
    pub direction: Direction,
    pub header: Header,
    pub kind: Kind,
}

impl Body {
    /// Payload bytes of TCP.
    pub(crate) fn payload(&self) -> u32 {
        match self.kind {
            Kind::Data(segment) => segment.len,
            _ => 0,
        }
    }
}
