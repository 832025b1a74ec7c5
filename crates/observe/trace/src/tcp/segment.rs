//! The facts about one packet that every analysis shares.

use unbloat_units::{Delta, Direction, Time};
use unbloat_wire::{PacketHeader, SackBlock, TcpOption, TcpOptions};

/// What most packets are, told once so that each analysis need not ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// New payload in order, and an ACK of nothing new. No SYN, FIN or RST; nothing was kept of its
    /// payload and its options.
    Data,
    /// No payload, and an ACK that advances. No SYN, FIN or RST, and nothing `is_odd`.
    Ack,
    Other,
}

/// What the bytes of a segment are to the monitor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataKind {
    /// It carries nothing that takes sequence space.
    #[default]
    None,
    /// It begins where the highest byte seen so far ended, or is the first.
    InOrder,
    /// It begins above that: bytes between were lost or overtaken before the monitor, or missed
    /// by the capture.
    AboveGap,
    /// It fills a gap, late: it was sent before what has been seen above the gap.
    Reordered,
    /// It fills a gap: sent again after a loss before the monitor.
    UpstreamLoss,
    /// It fills a gap, and nothing tells which of the two it is.
    Ambiguous,
    /// At least one byte of it has been seen before.
    Retransmission,
    /// One byte below the next, to provoke an ACK (RFC 9293 §3.8.4).
    KeepAlive,
    /// Sent into a closed window to provoke an ACK (RFC 9293 §3.8.6.1).
    WindowProbe,
    /// Before the first byte seen of this direction: nothing can be said of it.
    BeforeCapture,
    /// So far from everything seen that it belongs to no state we know.
    Stray,
}

impl DataKind {
    /// Reordering, loss or a copy is in sight.
    pub const fn is_disorder(self) -> bool {
        matches!(
            self,
            DataKind::AboveGap
                | DataKind::Reordered
                | DataKind::UpstreamLoss
                | DataKind::Ambiguous
                | DataKind::Retransmission
        )
    }
}

/// What the acknowledgement number of a packet does for the opposite direction's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckKind {
    /// No ACK flag.
    #[default]
    None,
    /// The first ACK seen for this data: it tells where the receiver is, nothing more.
    First,
    /// It acknowledges new bytes.
    Advance,
    /// A duplicate ACK (RFC 5681 §2): see the module's table for how SACK changes it.
    Duplicate,
    /// Only the window changed.
    WindowUpdate,
    /// Nothing new: data in the other direction, or no data outstanding.
    Same,
    /// Below the highest ACK seen: overtaken on its way.
    Old,
}

/// One round trip between the monitor and a receiver: data out, its ACK back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// From the newest segment that the ACK answers.
    pub rtt: Delta,
    /// From the oldest one that it newly covers; `None` for samples of one segment out of several.
    pub from_oldest: Option<Delta>,
    /// Bytes that the ACK newly covers and that were sent at once with the newest segment, itself included.
    pub at_once: u32,
    /// Unacknowledged bytes when the data packet passed, itself included.
    pub in_flight: u32,
}

/// A packet of a TCP flow and what it means.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    pub header: &'a PacketHeader,
    pub now: Time,
    /// The same in microseconds of the flow's life, wrapping.
    pub now_us: u32,
    /// Raw TCP options where the fast path left them undecoded (SYN options, SACK blocks).
    pub options: &'a [u8],
    /// The beginning of the payload where it was captured and looks like a known protocol.
    pub payload: &'a [u8],

    /// The direction that this packet's own data belongs to. Its ACK is about the other.
    pub side: Direction,
    pub data: DataKind,
    /// Bytes of sequence space that this packet took the sender forward.
    pub advanced: u32,
    /// Unacknowledged bytes of `side` after this packet; unknown before the first ACK.
    pub in_flight: Option<u32>,
    /// For a retransmission: how long ago the bytes were last seen, where that is still known.
    pub since_last_copy: Option<Delta>,

    pub ack: AckKind,
    /// Bytes of `side.reverse()` that this ACK newly acknowledges.
    pub acked: u32,
    /// Data packets among them.
    pub acked_packets: u32,
    /// When the newest data packet that it newly acknowledges passed the monitor.
    pub acked_sent: Option<Time>,
    /// Unacknowledged bytes of `side.reverse()` after this ACK.
    pub remaining: u32,
    /// A clean round trip of `side.reverse()`'s data that this ACK completes.
    pub rtt: Option<RttSample>,
    /// The round trip of a packet that came while others were missing, by the SACK block that reports it.
    pub sacked_rtt: Option<Delta>,
    /// The ACK reports a segment received twice (RFC 2883).
    pub dsack: bool,
    /// That segment is a copy which an earlier ACK showed to be needless already (`eifel`).
    pub dsack_repeats: bool,
    /// The ACK of a retransmission echoes a timestamp older than the copy (RFC 3522): the original
    /// had arrived, the copy was not needed.
    pub eifel: bool,
    /// Bytes that the receiver acknowledged and the capture never saw.
    pub missed: u32,
    /// Any of: `data` is neither in order nor nothing, the ACK is a duplicate, or `dsack`, `eifel` or
    /// `missed` say something. Most analyses have nothing to do where it is not set.
    pub is_odd: bool,
    /// Receive window in bytes that this packet grants to `side.reverse()`'s data, if the scale is
    /// known.
    pub window: Option<u32>,
}

impl Segment<'_> {
    pub fn is_pure_ack(&self) -> bool {
        self.header.payload_len == 0 && self.header.tcp_flags.0 & 0x07 == 0
    }

    /// SACK blocks of this packet's options.
    pub fn sack_blocks(&self) -> impl Iterator<Item = SackBlock> {
        let options = TcpOptions::new(self.options);
        let sack = options.filter_map(|option| match option {
            TcpOption::Sack(blocks) => Some(blocks),
            _ => None,
        });
        sack.take(1).flatten()
    }
}
