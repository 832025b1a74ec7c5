//! What an operator sets.

use crate::device::Device;
use crate::packet::Packet;
use serde::Deserialize;
use unbloat_params::Limit;
use unbloat_params::range::{PERIOD, RATE, SPAN};
use unbloat_params::{LinkSettings, Read, defaults};
use unbloat_units::{Bytes, Cells, Delta, Rate};

defaults! {
    /// As `tc qdisc add ... cake` without arguments.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Params {
        /// Of the shaper; none sends whenever the device asks.
        pub rate: Option<Rate> = None;
        /// The usual RTT: CoDel's interval.
        pub rtt: Delta = Delta::ms(100);
        pub target: Delta = Delta::ms(5);
        pub diffserv: Diffserv = Diffserv::Diffserv3;
        pub isolation: Isolation = Isolation::TripleIsolate;
        /// Bytes that the link adds to the IP packet; none counts the device's frame as it is.
        pub overhead: Option<i32> = None;
        /// Least length on the link, overhead included.
        pub min_packet_unit: u32 = 0;
        pub cells: Cells = Cells::None;
        pub ack_filter: AckFilter = AckFilter::Off;
        /// None: four times what the rate carries in an RTT, at least 4 MiB.
        pub memory_limit: Option<Bytes> = None;
        /// Whether dropped packets have used the link: for a shaper behind the bottleneck.
        pub ingress: bool = false;
        /// Whether DSCPs are cleared once they have been read.
        pub wash: bool = false;
        /// Decides which flows and hosts share a queue.
        pub salt: u32 = 0;
        pub device: Device = Device::ETHERNET;
    }
}

impl Params {
    /// As `tc qdisc add ... cake rtt`: an RTT alone sets the target to a twentieth of it.
    pub fn of_rtt(rtt: Delta) -> Params {
        Params {
            rtt,
            target: rtt / 20,
            ..Params::default()
        }
    }
}

impl<S: LinkSettings> Read<S> for Params {
    fn read(settings: &mut S) -> Result<Params, S::Error> {
        let rtt = settings.within("rtt", Params::default().rtt, &PERIOD)?;
        let default = Params::of_rtt(rtt);
        Ok(Params {
            rate: settings.maybe_within("rate", &RATE)?,
            rtt,
            target: settings.within("target", default.target, &SPAN)?,
            diffserv: settings.or("diffserv", default.diffserv)?,
            isolation: settings.or("isolation", default.isolation)?,
            overhead: settings.maybe_within("overhead_bytes", &(-64..=256))?,
            min_packet_unit: settings.within("mpu_bytes", default.min_packet_unit, &(0..=256))?,
            cells: settings.or("cells", default.cells)?,
            ack_filter: settings.or("ack_filter", default.ack_filter)?,
            memory_limit: settings.maybe_limit("limit")?.map(Limit::bytes),
            ingress: settings.or("ingress", default.ingress)?,
            wash: settings.or("wash", default.wash)?,
            salt: settings.or("salt", default.salt)?,
            device: Device::read(settings)?,
        })
    }
}

/// Into which tins packets go by their DSCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Diffserv {
    Besteffort,
    Diffserv3,
    Diffserv4,
    Diffserv8,
}

/// Among whom the link is shared evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
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
            Some(overhead) => packet.len.as_u32() as i32 + overhead,
            None => self.device.frame(packet) as i32,
        };
        let len = (bare.max(0) as u32).max(self.min_packet_unit);
        self.cells.wire_bytes(u64::from(len)) as u32
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
