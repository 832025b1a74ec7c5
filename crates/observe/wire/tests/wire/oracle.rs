//! The same packets read by another parser.

use crate::packets::{ETHERNET, packets, parse};
use etherparse::{LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TransportSlice};
use proptest::prelude::*;
use std::net::IpAddr;
use unbloat_units::Seq;
use unbloat_wire::{Address, PacketFlags};

fn ends(net: &LaxNetSlice<'_>) -> Option<(IpAddr, IpAddr)> {
    match net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            Some((
                header.source_addr().into(),
                header.destination_addr().into(),
            ))
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            Some((
                header.source_addr().into(),
                header.destination_addr().into(),
            ))
        }
        LaxNetSlice::Arp(_) => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn etherparse_reads_the_same_fields(packet in packets()) {
        let ours = parse(ETHERNET, &packet.bytes, packet.bytes.len() as u32).unwrap();
        let theirs = LaxSlicedPacket::from_ethernet(&packet.bytes).unwrap();
        let (src, dst) = theirs.net.as_ref().and_then(ends).unwrap();
        prop_assert_eq!((ours.src, ours.dst), (Address::from(src), Address::from(dst)));
        match theirs.transport.unwrap() {
            TransportSlice::Udp(udp) => {
                prop_assert!(packet.udp);
                prop_assert_eq!(ours.src_port, udp.source_port());
                prop_assert_eq!(ours.dst_port, udp.destination_port());
                prop_assert_eq!(ours.payload_len, u32::from(udp.length()) - 8);
            }
            TransportSlice::Tcp(tcp) => {
                prop_assert_eq!(ours.src_port, tcp.source_port());
                prop_assert_eq!(ours.dst_port, tcp.destination_port());
                prop_assert_eq!(ours.seq, Seq::new(tcp.sequence_number()));
                prop_assert_eq!(ours.ack, Seq::new(tcp.acknowledgment_number()));
                prop_assert_eq!(ours.window, tcp.window_size());
                prop_assert_eq!(ours.tcp_flags.0, tcp.slice()[13]);
                prop_assert_eq!(ours.payload_len as usize, tcp.payload().len());
                let timestamps = tcp.options_iterator().map_while(Result::ok).filter_map(|o| match o {
                    TcpOptionElement::Timestamp(value, echo) => Some((value, echo)),
                    _ => None,
                }).last();
                prop_assert_eq!(ours.flags.has(PacketFlags::TIMESTAMPS), timestamps.is_some());
                let (value, echo) = timestamps.unwrap_or_default();
                prop_assert_eq!((ours.tsval, ours.tsecr), (Seq::new(value), Seq::new(echo)));
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }
}
