//! A live flow: who, when, how much, and for TCP the state of both directions.

use crate::analysis::{Deep, Light, Naming};
use crate::orientation::Evidence;
use crate::standing::Spin;
use crate::tcp::{AckKind, DataKind, Half, Kind, Scale, Segment, Side};
use unbloat_units::{Delta, Time};
use unbloat_wire::{Address, PacketHeader, TcpOption, TcpOptions, protocol};

/// Why a flow ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndCause {
    /// FIN from both ends, or from one and then silence.
    Fin,
    Rst,
    /// Silent for longer than `flow_idle`.
    Idle,
    /// A new handshake on the same addresses and ports.
    Reuse,
    /// Closed to stay within `max_flows`.
    Evicted,
    /// The trace ended while it lived.
    #[default]
    TraceEnd,
}

impl EndCause {
    pub fn name(self) -> &'static str {
        match self {
            EndCause::Fin => "fin",
            EndCause::Rst => "rst",
            EndCause::Idle => "idle",
            EndCause::Reuse => "reuse",
            EndCause::Evicted => "evicted",
            EndCause::TraceEnd => "trace_end",
        }
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
    pub packets: [u64; 2],
    pub payload: [u64; 2],
    pub wire_bytes: u64,
    /// What the client called the server.
    pub(crate) naming: Option<Box<Naming>>,
}

pub(crate) const RST: u8 = 4;

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
            packets: [0; 2],
            payload: [0; 2],
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
        let side = side_of(header).index();
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
    pub(crate) fn is_finished(&self, side: Side) -> bool {
        self.closed & (1 << side.index()) != 0
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
pub(crate) fn side_of(header: &PacketHeader) -> Side {
    if header.is_uplink() {
        Side::Up
    } else {
        Side::Down
    }
}

/// The direction of a packet's own data, and the one that its ACK is about.
#[inline]
fn both(halves: &mut [Half; 2], side: Side) -> (&mut Half, &mut Half) {
    let [down, up] = halves;
    match side {
        Side::Down => (down, up),
        Side::Up => (up, down),
    }
}

/// What the options of a SYN say of the window that its sender grants, and whether it takes SACK.
fn offers(options: &[u8]) -> (Scale, bool) {
    let (mut scale, mut sack) = (Scale::NotOffered, false);
    for option in TcpOptions::new(options) {
        match option {
            TcpOption::WindowScale(shift) if scale == Scale::NotOffered => {
                scale = Scale::Shift(shift);
            }
            TcpOption::SackPermitted => sack = true,
            _ => {}
        }
    }
    (scale, sack)
}

/// A live UDP flow.
pub(crate) struct UdpFlow {
    pub(crate) core: FlowCore,
    /// Of those that begin as QUIC does.
    pub(crate) spin: Option<Box<Spin>>,
}

impl UdpFlow {
    pub(crate) fn of(core: FlowCore) -> UdpFlow {
        UdpFlow { core, spin: None }
    }
}

/// A live TCP flow.
#[derive(Clone)]
pub(crate) struct TcpFlow {
    pub(crate) core: FlowCore,
    pub(crate) halves: [Half; 2],
    pub(crate) light: Light,
    pub(crate) deep: Option<Box<Deep>>,
}

impl TcpFlow {
    /// The packet belongs to this flow: it has its addresses and ports, and does not begin another
    /// one on them.
    #[inline]
    pub(crate) fn continues_with(&self, header: &PacketHeader, idle: Delta) -> bool {
        self.core.matches(header)
            && header.time.since_bounded(self.core.last) <= idle
            && !(header.tcp_flags.syn() && self.is_opened_anew_by(header))
    }

    fn is_opened_anew_by(&self, header: &PacketHeader) -> bool {
        let opening = !header.tcp_flags.ack() && !header.tcp_flags.rst();
        let half = &self.halves[side_of(header).index()];
        opening && half.span().is_some() && (!half.is_syn_seen() || half.base() != header.seq)
    }

    /// Asks for the memory beside the flow that a packet of it touches.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.halves.iter().for_each(Half::prefetch);
        self.light.prefetch();
    }

    /// Classifies the packet and moves both directions on.
    #[inline]
    pub(crate) fn track(&mut self, seg: &mut Segment<'_>) -> Kind {
        let header = seg.header;
        if header.tcp_flags.is_plain_ack() && header.extra_len == 0 {
            let (own, acked) = both(&mut self.halves, seg.side);
            if header.payload_len == 0 {
                if acked.is_advanced_by(header) {
                    acked.on_next_ack(seg);
                    own.on_no_data(seg);
                    if self.deep.is_none() || self.core.closed != 0 {
                        acked.release_if_idle();
                    }
                    seg.is_odd = seg.eifel || seg.missed > 0;
                    return if seg.is_odd { Kind::Other } else { Kind::Ack };
                }
            } else if own.is_continued_by(header) && acked.is_acked_again_by(header) {
                acked.on_ack_again(seg);
                own.on_next_data(seg);
                return Kind::Data;
            }
        }
        self.track_other(seg);
        Kind::Other
    }

    /// For packets of any kind.
    #[inline(never)]
    pub(crate) fn track_other(&mut self, seg: &mut Segment<'_>) {
        let side = seg.side;
        let (own, acked) = both(&mut self.halves, side);
        if seg.header.tcp_flags.syn() {
            let (scale, takes_sack) = offers(seg.options);
            acked.set_scale(scale, own);
            if !takes_sack {
                acked.refuse_sack();
            }
        }
        acked.on_ack(seg);
        own.on_data(seg);
        if self.deep.is_none() || self.core.closed != 0 {
            acked.release_if_idle();
        }
        seg.is_odd = !matches!(seg.data, DataKind::None | DataKind::InOrder)
            || seg.ack == AckKind::Duplicate
            || seg.dsack
            || seg.eifel
            || seg.missed > 0;
        if seg.header.tcp_flags.fin() && seg.data != DataKind::Stray {
            self.core.closed |= 1 << side.index();
        }
        if seg.header.tcp_flags.rst() {
            self.core.closed |= RST;
        }
    }
}
