//! What packets carry.

use unbloat_qdisc::Ecn;
use unbloat_tcp::{self as tcp, Ack, Segment};
use unbloat_units::{Direction, Seq, Time};

/// IP length of a SYN with the options of today.
pub(crate) const SYN_BYTES: u32 = 60;
/// Headers of a datagram: IPv4 and UDP.
pub(crate) const DATAGRAM_HEADER_BYTES: u32 = 28;
/// Of the ACK that ends a handshake, with timestamps.
pub(crate) const OPENED_BYTES: u32 = 52;

/// The inside of a packet. Directions are those of the data, so an ACK of the downlink travels up.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Syn {
        conn: u32,
        sent: Time,
    },
    SynAck {
        conn: u32,
        /// When the SYN was sent that it answers.
        asked: Time,
    },
    /// The client's answer to a SYN-ACK.
    Opened {
        conn: u32,
    },
    Data {
        conn: u32,
        direction: Direction,
        segment: Segment,
    },
    Ack {
        conn: u32,
        direction: Direction,
        ack: Ack,
    },
    /// From the router to a reflector, and back.
    Probe {
        number: u32,
        sent: Time,
        turned: Option<Time>,
    },
    /// From a client, along so many hops.
    Limited {
        flow: u32,
        hops: u32,
        /// The hop, from 0, in front of which it is answered.
        until: usize,
        number: u64,
        /// IP length of the answer.
        answer: u32,
    },
    /// The answer to it, which has as many hops before it.
    TimeExceeded {
        flow: u32,
        /// The hop, from 0, that it meets first.
        first: usize,
        number: u64,
    },
    Datagram {
        flow: u32,
        direction: Direction,
        number: u64,
        payload: u32,
        sent: Time,
    },
}

impl Body {
    /// The connection that it is for, if it is data or an acknowledgement.
    #[inline]
    pub(crate) fn conn(&self) -> Option<u32> {
        match self {
            Body::Data { conn, .. } | Body::Ack { conn, .. } => Some(*conn),
            _ => None,
        }
    }
}

/// What an ACK filter may know of an acknowledgement.
pub(crate) fn pure_ack(ack: &Ack) -> unbloat_qdisc::PureAck {
    let sacked: u64 = ack.blocks().map(|block| block.end - block.start).sum();
    unbloat_qdisc::PureAck {
        ack: Seq::new(ack.ack as u32),
        sacked: sacked as u32,
        is_special: ack.ece,
    }
}

pub(crate) fn ecn_of(ecn: tcp::Ecn) -> Ecn {
    match ecn {
        tcp::Ecn::NotEct => Ecn::NotEct,
        tcp::Ecn::Ect1 => Ecn::Ect1,
        tcp::Ecn::Ect0 => Ecn::Ect0,
        tcp::Ecn::Ce => Ecn::Ce,
    }
}
