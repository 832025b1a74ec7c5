//! Random valid packets, built by another library than the one under test.

use etherparse::{PacketBuilder, TcpHeader};
use proptest::prelude::*;
use unbloat_units::Time;
use unbloat_wire::{Batch, FlowHasher, LinkType, PacketHeader, Parser, ParserParams, SkipReason};

pub const ETHERNET: LinkType = LinkType::Ethernet;

/// A packet and what it was built from.
#[derive(Clone, Debug)]
pub struct Packet {
    pub bytes: Vec<u8>,
    pub udp: bool,
    pub payload_len: u32,
}

pub fn parse(link: LinkType, stored: &[u8], wire_len: u32) -> Result<PacketHeader, SkipReason> {
    let parser = Parser::new(ParserParams::default(), FlowHasher::with_seed(7));
    let mut batch = Batch::default();
    parser.push(&mut batch, link, stored, wire_len, Time::default());
    match batch.skipped.iter().next() {
        Some((reason, _)) => Err(reason),
        None => Ok(batch.headers[0]),
    }
}

prop_compose! {
    fn tcp_header()(
        ports: (u16, u16), seq: u32, ack: u32, window: u16, flags in 0u8..64, options in options(),
    ) -> TcpHeader {
        let mut header = TcpHeader::new(ports.0, ports.1, seq, window);
        header.acknowledgment_number = ack;
        header.fin = flags & 1 != 0;
        header.syn = flags & 2 != 0;
        header.rst = flags & 4 != 0;
        header.psh = flags & 8 != 0;
        header.ack = flags & 16 != 0;
        header.ece = flags & 32 != 0;
        header.set_options_raw(&options).expect("at most 40 bytes");
        header
    }
}

/// Option lists as systems send them, and random bytes.
fn options() -> impl Strategy<Value = Vec<u8>> {
    let timestamps = any::<[u8; 8]>().prop_map(|values| [&[1, 1, 8, 10][..], &values].concat());
    let sack = any::<[u8; 8]>().prop_map(|block| [&[1, 1, 5, 10][..], &block].concat());
    prop_oneof![
        Just(vec![]),
        timestamps.clone(),
        sack.clone(),
        (timestamps, sack).prop_map(|(t, s)| [t, s].concat()),
        proptest::collection::vec(any::<u8>(), 0..=40),
    ]
}

prop_compose! {
    /// TCP or UDP in IPv4 or IPv6 in Ethernet with up to two VLAN tags, padded as on the wire.
    pub fn packets()(
        tcp in tcp_header(), udp: bool, v6: bool, tags in 0u8..3,
        v4_ends: ([u8; 4], [u8; 4]), v6_ends: ([u8; 16], [u8; 16]),
        payload in proptest::collection::vec(any::<u8>(), 0..300),
    ) -> Packet {
        let ethernet = || PacketBuilder::ethernet2([2; 6], [4; 6]);
        let vlan = |id| etherparse::VlanId::try_new(id).expect("12 bits");
        let tagged = match tags {
            0 => None,
            1 => Some(ethernet().single_vlan(vlan(5))),
            _ => Some(ethernet().double_vlan(vlan(5), vlan(6))),
        };
        let ip = match (tagged, v6) {
            (None, false) => ethernet().ipv4(v4_ends.0, v4_ends.1, 64),
            (None, true) => ethernet().ipv6(v6_ends.0, v6_ends.1, 64),
            (Some(tagged), false) => tagged.ipv4(v4_ends.0, v4_ends.1, 64),
            (Some(tagged), true) => tagged.ipv6(v6_ends.0, v6_ends.1, 64),
        };
        let mut bytes = Vec::new();
        if udp {
            ip.udp(tcp.source_port, tcp.destination_port).write_to_vec(&mut bytes, &payload)
        } else {
            ip.tcp_header(tcp).write_to_vec(&mut bytes, &payload)
        }.expect("a vector takes all");
        bytes.resize(bytes.len().max(60), 0);
        Packet { bytes, udp, payload_len: payload.len() as u32 }
    }
}
