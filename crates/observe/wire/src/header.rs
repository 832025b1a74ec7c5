//! What every analysis knows of a packet: 96 bytes, whatever the link layer and tunnels were.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use unbloat_units::{Seq, Time};

/// An IP address of either version; IPv4 as IPv4-mapped IPv6 (RFC 4291 §2.5.5.2).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Address(pub [u8; 16]);

impl Address {
    pub fn v4(octets: [u8; 4]) -> Address {
        Address(Ipv4Addr::from(octets).to_ipv6_mapped().octets())
    }

    pub fn to_ip(self) -> IpAddr {
        Ipv6Addr::from(self.0).to_canonical()
    }
}

impl From<IpAddr> for Address {
    fn from(ip: IpAddr) -> Address {
        match ip {
            IpAddr::V4(ip) => Address::v4(ip.octets()),
            IpAddr::V6(ip) => Address(ip.octets()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_ip().fmt(f)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// IP protocol numbers that analyses tell apart.
pub mod protocol {
    pub const ICMP: u8 = 1;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const ICMPV6: u8 = 58;
}

/// The TCP flag byte (RFC 9293 §3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const RST: u8 = 0x04;
    pub const PSH: u8 = 0x08;
    pub const ACK: u8 = 0x10;
    pub const ECE: u8 = 0x40;
    pub const CWR: u8 = 0x80;

    pub const fn fin(self) -> bool {
        self.0 & Self::FIN != 0
    }

    pub const fn syn(self) -> bool {
        self.0 & Self::SYN != 0
    }

    pub const fn rst(self) -> bool {
        self.0 & Self::RST != 0
    }

    pub const fn ack(self) -> bool {
        self.0 & Self::ACK != 0
    }

    /// ACK and none of SYN, FIN and RST: neither the beginning nor an end of a connection.
    pub const fn is_plain_ack(self) -> bool {
        self.0 & (Self::ACK | Self::SYN | Self::FIN | Self::RST) == Self::ACK
    }
}

/// Yes-or-no facts about a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFlags(pub u16);

impl PacketFlags {
    /// From the client towards the server; set by the orientation stage, not by the parser.
    pub const UPLINK: u16 = 1 << 0;
    pub const IPV6: u16 = 1 << 1;
    /// The TCP timestamps option was there: `tsval` and `tsecr` hold.
    pub const TIMESTAMPS: u16 = 1 << 2;
    /// `ip_id` holds: IPv4, or the fragment header of IPv6.
    pub const IP_ID: u16 = 1 << 3;
    /// A first fragment: `payload_len` counts all of the datagram only if it was told.
    pub const FIRST_FRAGMENT: u16 = 1 << 4;
    /// The capture, or a fragment's end, cut the TCP header in its options: what they would say is
    /// unknown, and fields beyond the cut are zero.
    pub const HEADER_CUT: u16 = 1 << 5;
    /// Came out of a GTP-U tunnel.
    pub const GTP: u16 = 1 << 6;
    /// GTP-U PDU session container said uplink (3GPP TS 38.415, PDU type 1).
    pub const TUNNEL_UPLINK: u16 = 1 << 7;
    /// GTP-U PDU session container said downlink (PDU type 0).
    pub const TUNNEL_DOWNLINK: u16 = 1 << 8;
    /// `extra` begins with `options_len` bytes of TCP options that the hot path does not decode
    /// (SYN options, SACK blocks).
    pub const SLOW_OPTIONS: u16 = 1 << 9;
    /// Payload was captured and starts like something that an application analysis reads.
    pub const APP_PAYLOAD: u16 = 1 << 10;
    /// It has payload, and the capture stored no byte of it.
    pub const PAYLOAD_CUT: u16 = 1 << 11;
    /// The same packet captured once more; set after parsing, by what compares packets.
    pub const COPY: u16 = 1 << 12;
    /// The UDP payload begins as a long header of QUIC does, whatever its version (RFC 8999 §5.1).
    pub const QUIC_LONG: u16 = 1 << 13;
    /// The UDP payload begins as a short header of QUIC does (RFC 9000 §17.3), and maybe as something else.
    pub const QUIC_SHORT: u16 = 1 << 14;
    /// The spin bit of a short header (RFC 9000 §17.4).
    pub const SPIN: u16 = 1 << 15;

    pub const fn has(self, flag: u16) -> bool {
        self.0 & flag != 0
    }

    pub fn set(&mut self, flag: u16) {
        self.0 |= flag;
    }
}

/// One packet: TCP, UDP or other IP. Lengths come from the headers, never from the captured size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct PacketHeader {
    pub time: Time,
    /// Hash of protocol, addresses and ports, the same in both directions, keyed per run.
    pub flow_hash: u64,
    pub src: Address,
    pub dst: Address,
    pub src_port: u16,
    pub dst_port: u16,
    pub seq: Seq,
    pub ack: Seq,
    pub tsval: Seq,
    pub tsecr: Seq,
    /// Payload bytes above TCP or UDP (above IP for other protocols).
    pub payload_len: u32,
    /// Bytes on the wire, all framing and tunnels included.
    pub wire_len: u32,
    /// The TCP window field as sent, unscaled.
    pub window: u16,
    pub ip_id: u16,
    pub flags: PacketFlags,
    /// Packet number in the whole trace, counted from its batch's `first_packet`.
    pub offset: u16,
    pub tcp_flags: TcpFlags,
    pub protocol: u8,
    /// Traffic class: DSCP and ECN.
    pub tos: u8,
    /// Leading bytes of `extra` that are TCP options.
    pub options_len: u8,
    /// Where in the batch's `extra` the options and then the payload's beginning are kept.
    pub extra: u32,
    pub extra_len: u16,
    /// TCP header plus IP header plus options in bytes, innermost packet only.
    pub header_len: u16,
}

impl PacketHeader {
    pub fn is_uplink(&self) -> bool {
        self.flags.has(PacketFlags::UPLINK)
    }

    /// Payload plus the sequence numbers that SYN and FIN take (RFC 9293 §3.4, SEG.LEN).
    pub fn seq_len(&self) -> u32 {
        self.payload_len + u32::from(self.tcp_flags.syn()) + u32::from(self.tcp_flags.fin())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_stays_within_two_cache_lines() {
        // 128 rather than 96 would cost a third of the parser's throughput.
        assert!(
            size_of::<PacketHeader>() <= 104,
            "{}",
            size_of::<PacketHeader>()
        );
    }

    #[test]
    fn addresses_of_both_versions_print_as_themselves() {
        assert_eq!(Address::v4([10, 45, 0, 2]).to_string(), "10.45.0.2");
        let v6: IpAddr = "2001:db8::1".parse().unwrap();
        assert_eq!(Address::from(v6).to_string(), "2001:db8::1");
    }
}
