//! A live flow: for TCP the state of both directions and of all analyses.

use crate::analysis::{Deep, Light};
use crate::flow::{FlowCore, RST, closed_by, side_of};
use crate::standing::Spin;
use crate::tcp::{AckKind, DataKind, Half, Kind, Scale, Segment};
use unbloat_units::{Both, Delta, Direction};
use unbloat_wire::{PacketHeader, TcpOption, TcpOptions};

/// The direction of a packet's own data, and the one that its ACK is about.
#[inline]
fn both(halves: &mut Both<Half>, side: Direction) -> (&mut Half, &mut Half) {
    let Both { down, up } = halves;
    match side {
        Direction::Down => (down, up),
        Direction::Up => (up, down),
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
    pub(crate) halves: Both<Half>,
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
        let half = &self.halves[side_of(header)];
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
            self.core.closed |= closed_by(side);
        }
        if seg.header.tcp_flags.rst() {
            self.core.closed |= RST;
        }
    }
}
