//! A flow: who, when, how much.

use crate::orientation::Evidence;
use crate::tcp::Half;
use unbloat_dissect::QuicClient;
use unbloat_units::{Both, Delta, Direction, Seq, Time, named};
use unbloat_wire::{Address, PacketHeader, protocol};

named! {
    /// Why a flow ended.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum EndCause {
        /// FIN from both ends, or from one and then silence.
        Fin = "fin",
        Rst = "rst",
        /// Silent for longer than `flow_idle`.
        Idle = "idle",
        /// A new handshake on the same addresses and ports.
        Reuse = "reuse",
        /// Closed to stay within `max_flows`.
        Evicted = "evicted",
        /// The trace ended while it lived.
        #[default]
        TraceEnd = "trace_end",
    }
}

/// What is known of any flow, whatever its protocol.
#[derive(Clone, Debug)]
pub struct FlowCore {
    /// Number in the trace of its first packet: unique, and the same however the trace was cut.
    pub flow_id: u64,
    pub user_id: u64,
    pub client: Address,
    pub server: Address,
    pub client_port: u16,
    pub server_port: u16,
    pub protocol: u8,
    pub is_ipv6: bool,
    pub evidence: Evidence,
    /// FIN seen from the sender of each side, then RST in bit 2.
    pub(crate) closed: u8,
    /// Second of the trace in which downlink data was last counted for concurrency.
    pub(crate) counted_second: u32,
    pub start: Time,
    pub last: Time,
    /// First and last packet with payload; the end of time before there is one, which saves the
    /// tag of an option in each of millions.
    payload_times: (Time, Time),
    /// Longest silence between two packets.
    pub max_gap: Delta,
    pub packets: Both<u64>,
    pub payload: Both<u64>,
    pub wire_bytes: u64,
    /// What the client called the server.
    pub(crate) naming: Option<Box<Naming>>,
}

pub(crate) const RST: u8 = 4;

/// The bit of [`FlowCore::closed`] of a side.
pub(crate) const fn closed_by(side: Direction) -> u8 {
    match side {
        Direction::Down => 1,
        Direction::Up => 2,
    }
}

impl FlowCore {
    pub(crate) fn new(
        header: &PacketHeader,
        flow_id: u64,
        user_id: u64,
        evidence: Evidence,
    ) -> Self {
        let up = header.is_uplink();
        let ends = ((header.src, header.src_port), (header.dst, header.dst_port));
        let ((client, client_port), (server, server_port)) =
            if up { ends } else { (ends.1, ends.0) };
        FlowCore {
            flow_id,
            user_id,
            client,
            server,
            client_port,
            server_port,
            protocol: header.protocol,
            is_ipv6: header.flags.has(unbloat_wire::PacketFlags::IPV6),
            evidence,
            closed: 0,
            counted_second: u32::MAX,
            start: header.time,
            last: header.time,
            payload_times: (Time::MAX, Time::MAX),
            max_gap: Delta::ZERO,
            packets: Both::default(),
            payload: Both::default(),
            wire_bytes: 0,
            naming: None,
        }
    }

    #[inline]
    pub(crate) fn matches(&self, header: &PacketHeader) -> bool {
        let (client, server) = if header.is_uplink() {
            (
                (&header.src, header.src_port),
                (&header.dst, header.dst_port),
            )
        } else {
            (
                (&header.dst, header.dst_port),
                (&header.src, header.src_port),
            )
        };
        // Without a branch for each: packets of other flows hardly ever get here.
        let bits = |address: &Address| u128::from_ne_bytes(address.0);
        let differ = bits(client.0) ^ bits(&self.client) | bits(server.0) ^ bits(&self.server);
        differ == 0
            && (client.1, server.1) == (self.client_port, self.server_port)
            && header.protocol == self.protocol
    }

    #[inline]
    pub(crate) fn count(&mut self, header: &PacketHeader) {
        let side = side_of(header);
        self.packets[side] += 1;
        self.wire_bytes += u64::from(header.wire_len);
        // Captures merged from several interfaces step back in time now and then.
        if header.time > self.last {
            self.max_gap = self.max_gap.max(header.time.since_bounded(self.last));
            self.last = header.time;
        }
        if header.payload_len > 0 {
            self.payload[side] += u64::from(header.payload_len);
            self.payload_times = (self.payload_times.0.min(header.time), self.last);
        }
    }

    /// The sender of `side` has sent its FIN.
    pub(crate) fn is_finished(&self, side: Direction) -> bool {
        self.closed & closed_by(side) != 0
    }

    pub fn is_tcp(&self) -> bool {
        self.protocol == protocol::TCP
    }

    pub fn duration(&self) -> Delta {
        self.last.since(self.start)
    }

    /// First and last packet with payload.
    pub fn payload_span(&self) -> Option<(Time, Time)> {
        (self.payload_times.0 < Time::MAX).then_some(self.payload_times)
    }

    /// From the first to the last packet with payload.
    pub fn transfer_time(&self) -> Delta {
        self.payload_span()
            .map_or(Delta::ZERO, |(first, last)| last.since(first))
    }
}

/// The side that a packet's own data belongs to.
#[inline]
pub(crate) fn side_of(header: &PacketHeader) -> Direction {
    if header.is_uplink() {
        Direction::Up
    } else {
        Direction::Down
    }
}

/// What is known of the name of a flow's server.
#[derive(Clone, Debug)]
pub(crate) enum Naming {
    Known(Box<str>),
    /// A QUIC hello of which more may come.
    Greeting(Box<QuicClient>),
}

/// A flow as analyses see it.
pub(crate) struct Flow<'a> {
    pub(crate) core: &'a FlowCore,
    /// State of the data of each side; untouched for flows other than TCP.
    pub(crate) halves: &'a Both<Half>,
}

impl Flow<'_> {
    pub(crate) fn half(&self, side: Direction) -> &Half {
        &self.halves[side]
    }

    pub(crate) fn is_tcp(&self) -> bool {
        self.core.is_tcp()
    }

    /// Position of `seq` in the data of `side`, from the first byte seen; bytes before that have none.
    pub(crate) fn position(&self, side: Direction, seq: Seq) -> Option<u64> {
        // Flows of more than 4 GB wrap: of all positions that `seq` may stand for, the one nearest
        // to the payload counted so far.
        let low = i64::from(seq.since(self.half(side).base()) as u32);
        let counted = i64::try_from(self.core.payload[side]).ok()?;
        let wraps = (counted - low + (1 << 31)).div_euclid(1 << 32);
        u64::try_from(wraps * (1 << 32) + low).ok()
    }
}
