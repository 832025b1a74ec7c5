//! What an operator sets.

use crate::device::Device;
use crate::packet::Packet;
use unbloat_units::{Bytes, Delta, Rate};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Of the shaper; none sends whenever the device asks.
    pub rate: Option<Rate>,
    /// The usual RTT: CoDel's interval.
    pub rtt: Delta,
    pub target: Delta,
    pub diffserv: Diffserv,
    pub isolation: Isolation,
    /// Bytes that the link adds to the IP packet; none counts the device's frame as it is.
    pub overhead: Option<i16>,
    /// Least length on the link, overhead included.
    pub min_packet_unit: u16,
    pub cells: Cells,
    pub ack_filter: AckFilter,
    /// None: four times what the rate carries in an RTT, at least 4 MiB.
    pub memory_limit: Option<Bytes>,
    /// Whether dropped packets have used the link: for a shaper behind the bottleneck.
    pub ingress: bool,
    /// Whether DSCPs are cleared once they have been read.
    pub wash: bool,
    /// Decides which flows and hosts share a queue.
    pub salt: u32,
    pub device: Device,
}

impl Default for Params {
    /// As `tc qdisc add ... cake` without arguments.
    fn default() -> Params {
        Params {
            rate: None,
            rtt: Delta::ms(100),
            target: Delta::ms(5),
            diffserv: Diffserv::Diffserv3,
            isolation: Isolation::TripleIsolate,
            overhead: None,
            min_packet_unit: 0,
            cells: Cells::None,
            ack_filter: AckFilter::Off,
            memory_limit: None,
            ingress: false,
            wash: false,
            salt: 0,
            device: Device::ETHERNET,
        }
    }
}

/// How packets are cut on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    None,
    /// 48 bytes in cells of 53, the last one padded.
    Atm,
    /// A byte for each 64 or part of them (VDSL2).
    Ptm,
}

/// Into which tins packets go by their DSCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diffserv {
    Besteffort,
    Diffserv3,
    Diffserv4,
    Diffserv8,
}

/// Among whom the link is shared evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// One queue for all.
    Flowblind,
    SourceHost,
    DestinationHost,
    /// Pairs of hosts.
    Hosts,
    Flows,
    /// Flows, and the sources that they come from.
    DualSource,
    /// Flows, and the destinations that they go to.
    DualDestination,
    /// Flows, and both kinds of hosts.
    TripleIsolate,
}

/// Which ACKs are dropped from a flow's queue when a later one makes them superfluous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckFilter {
    Off,
    /// Keeps at least two ACKs.
    Conservative,
    Aggressive,
}

impl Isolation {
    /// Whether sources get equal shares, however many flows they have.
    pub(super) fn is_fair_to_sources(self) -> bool {
        matches!(self, Isolation::DualSource | Isolation::TripleIsolate)
    }

    pub(super) fn is_fair_to_destinations(self) -> bool {
        matches!(self, Isolation::DualDestination | Isolation::TripleIsolate)
    }
}

impl Params {
    /// What the packet takes on the link, in bytes.
    #[inline]
    pub(super) fn link_len(&self, packet: &Packet) -> u32 {
        let bare = match self.overhead {
            Some(overhead) => packet.len.as_u32() as i32 + i32::from(overhead),
            None => self.device.frame(packet) as i32,
        };
        let len = bare.max(i32::from(self.min_packet_unit)).max(0) as u32;
        match self.cells {
            Cells::None => len,
            Cells::Atm => len.div_ceil(48) * 53,
            Cells::Ptm => len + len.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{FlowHash, IpLen};

    #[test]
    fn link_lengths_follow_overhead_cells_and_minimum() {
        let packet = |len| Packet::new(0, IpLen::new(len), FlowHash(0));
        let plain = Params::default();
        assert_eq!(plain.link_len(&packet(1_500)), 1_514);
        let pppoe_atm = Params {
            overhead: Some(32),
            cells: Cells::Atm,
            ..plain
        };
        // 1,532 bytes in 32 cells; an ACK of 40 with 32 bytes of overhead takes two.
        assert_eq!(pppoe_atm.link_len(&packet(1_500)), 32 * 53);
        assert_eq!(pppoe_atm.link_len(&packet(40)), 2 * 53);
        let vdsl = Params {
            overhead: Some(30),
            cells: Cells::Ptm,
            ..plain
        };
        assert_eq!(vdsl.link_len(&packet(1_500)), 1_530 + 24);
        let ethernet = Params {
            overhead: Some(38),
            min_packet_unit: 84,
            ..plain
        };
        assert_eq!(ethernet.link_len(&packet(40)), 84);
    }
}
