//! The packets that nearly all are, read at fixed places: TCP with nothing but timestamps, in IPv4
//! without options, directly in Ethernet or in GTP-U without optional fields.
//!
//! Whatever is not exactly that goes the long way, which gives the same for these packets too, at
//! three times the cost.

use crate::frame::ethertype;
use crate::hash::FlowHasher;
use crate::tcp::PADDED_TIMESTAMPS;
use crate::view::{be16, be32};
use crate::{Address, PacketFlags, PacketHeader, TcpFlags, protocol};
use unbloat_units::Seq;

/// IPv4 of version 4 with a header of five words.
const IPV4: u8 = 0x45;
const PROTOCOL: usize = 9;
const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 32;
const HEADERS: usize = IP_HEADER + TCP_HEADER;
/// IP, UDP and GTP-U.
const TUNNEL: usize = 36;
/// More fragments, or an offset, then the time to live, then the protocol: as these four bytes stand
/// behind one another, one comparison is enough.
const FRAGMENT_AND_PROTOCOL: u32 = 0x3fff_00ff;

/// A packet at whose places everything is as usual.
pub(crate) struct Usual<'a> {
    headers: &'a [u8; HEADERS],
    /// What was captured of the payload.
    pub(crate) payload: &'a [u8],
    payload_len: u32,
    tunnel_flags: u16,
}

impl<'a> Usual<'a> {
    /// In an Ethernet frame, or in a GTP-U tunnel at one of `gtp_ports` within it.
    #[inline(always)]
    pub(crate) fn find(frame: &'a [u8], gtp_ports: &[u16]) -> Option<Usual<'a>> {
        let (ethernet, packet) = frame.split_first_chunk::<14>()?;
        if be16(ethernet, 12) != ethertype::IPV4 {
            return None;
        }
        match packet.get(PROTOCOL) {
            Some(&protocol::TCP) => Usual::tcp_in_ipv4(packet, 0),
            Some(&protocol::UDP) => {
                let user = in_gtp(packet, gtp_ports)?;
                Usual::tcp_in_ipv4(user, PacketFlags::GTP)
            }
            _ => None,
        }
    }

    #[inline(always)]
    fn tcp_in_ipv4(packet: &'a [u8], tunnel_flags: u16) -> Option<Usual<'a>> {
        /// The TCP header's length and flags.
        const LENGTH_AND_SYN: u16 = 0xf000 | TcpFlags::SYN as u16;
        let (headers, rest) = packet.split_first_chunk::<HEADERS>()?;
        let is_usual = headers[0] == IPV4
            && be32(headers, 6) & FRAGMENT_AND_PROTOCOL == u32::from(protocol::TCP)
            && be16(headers, 32) & LENGTH_AND_SYN == 0x8000
            && be32(headers, 40) == PADDED_TIMESTAMPS;
        if !is_usual {
            return None;
        }
        let payload_len = u32::from(be16(headers, 2)).checked_sub(HEADERS as u32)?;
        Some(Usual {
            headers,
            payload: &rest[..rest.len().min(payload_len as usize)],
            payload_len,
            tunnel_flags,
        })
    }

    pub(crate) fn ports(&self) -> (u16, u16) {
        (be16(self.headers, 20), be16(self.headers, 22))
    }

    /// Writes what the headers say to a header that is all zeros. Field by field, because a header
    /// that is first put together elsewhere would be copied.
    #[inline(always)]
    pub(crate) fn write_to(&self, header: &mut PacketHeader, hasher: &FlowHasher) {
        let bytes = self.headers;
        let (src, dst) = (be32(bytes, 12), be32(bytes, 16));
        let (src_port, dst_port) = self.ports();
        header.flow_hash = hasher.hash_v4(protocol::TCP, (src, src_port), (dst, dst_port));
        header.src = mapped(src);
        header.dst = mapped(dst);
        header.src_port = src_port;
        header.dst_port = dst_port;
        header.seq = Seq::new(be32(bytes, 24));
        header.ack = Seq::new(be32(bytes, 28));
        header.tsval = Seq::new(be32(bytes, 44));
        header.tsecr = Seq::new(be32(bytes, 48));
        header.payload_len = self.payload_len;
        header.window = be16(bytes, 34);
        header.ip_id = be16(bytes, 4);
        header.flags =
            PacketFlags(PacketFlags::IP_ID | PacketFlags::TIMESTAMPS | self.tunnel_flags);
        if self.payload_len > 0 && self.payload.is_empty() {
            header.flags.set(PacketFlags::PAYLOAD_CUT);
        }
        header.tcp_flags = TcpFlags(bytes[33]);
        header.protocol = protocol::TCP;
        header.tos = bytes[1];
        header.header_len = HEADERS as u16;
    }
}

#[inline(always)]
fn mapped(v4: u32) -> Address {
    Address((0xffff_0000_0000 | u128::from(v4)).to_be_bytes())
}

/// The user's packet in a tunnel between one of `ports` and any port.
#[inline(always)]
fn in_gtp<'a>(packet: &'a [u8], ports: &[u16]) -> Option<&'a [u8]> {
    let header = packet.first_chunk::<TUNNEL>()?;
    let is_udp =
        header[0] == IPV4 && be32(header, 6) & FRAGMENT_AND_PROTOCOL == u32::from(protocol::UDP);
    // Version 1, no optional field, a user's packet.
    let is_user_data = be16(header, 28) == 0x30ff;
    let [total, udp, user] = [2, 24, 30].map(|at| u32::from(be16(header, at)));
    let lengths_agree = total == udp + 20 && udp == user + 16;
    if !is_udp || !is_user_data || !lengths_agree {
        return None;
    }
    let has_port = ports.contains(&be16(header, 22)) || ports.contains(&be16(header, 20));
    let stored = packet.len().min(total as usize);
    has_port.then_some(&packet[TUNNEL..stored])
}

#[cfg(test)]
mod tests {
    use crate::testing::{TIMESTAMPS, ethernet, ipv4, packet, tcp, udp, whole};
    use crate::{Batch, PacketHeader, Parser, SkipReason, testing};
    use proptest::prelude::*;
    use unbloat_units::Time;

    /// What the parser gives for a frame, or cannot give, and what it keeps of it.
    fn parsed(
        parser: &Parser,
        link: u16,
        frame: &[u8],
    ) -> (Result<PacketHeader, SkipReason>, Vec<u8>) {
        let mut batch = Batch::default();
        parser.push(&mut batch, link.into(), frame, 0, Time::default());
        let skipped = batch.skipped.iter().next();
        let found = skipped.map_or_else(|| Ok(batch.headers[0]), |(reason, _)| Err(reason));
        (found, batch.extra)
    }

    fn tunnelled(user: &[u8]) -> Vec<u8> {
        let [high, low] = (user.len() as u16).to_be_bytes();
        let gtp = [&[0x30, 255, high, low, 0, 0, 0, 1], user].concat();
        ipv4(17, &udp(2152, 2152, &gtp))
    }

    #[test]
    fn the_tunnelled_and_the_plain_packet_are_told_apart_by_a_flag_only() {
        let plain = whole(1, &ethernet(0x0800, &packet())).unwrap();
        let mut inner = whole(1, &ethernet(0x0800, &tunnelled(&packet()))).unwrap();
        inner.flags.0 &= !crate::PacketFlags::GTP;
        inner.wire_len = plain.wire_len;
        assert_eq!(inner, plain);
    }

    proptest! {
        /// Raw IP always goes the long way, Ethernet the short one where it can.
        #[test]
        fn the_short_way_gives_what_the_long_way_gives(
            in_tunnel: bool,
            payload in proptest::collection::vec(any::<u8>(), 0..80),
            padding in 0..6_usize,
            stored in 0..200_usize,
            damage in proptest::option::of((0..100_usize, any::<u8>())),
            flags: u8,
        ) {
            let user = ipv4(6, &tcp(flags, &TIMESTAMPS, &payload));
            let mut packet = if in_tunnel { tunnelled(&user) } else { user };
            if let Some((at, value)) = damage
                && let Some(byte) = packet.get_mut(at)
            {
                *byte = value;
            }
            // A version that contradicts the Ethernet type is another matter.
            prop_assume!(packet[0] >> 4 == 4);
            packet.resize(packet.len() + padding, 0);
            let stored = stored.min(packet.len());
            let parser = testing::parser();
            let short = parsed(&parser, 1, &ethernet(0x0800, &packet[..stored]));
            let long = parsed(&parser, 101, &packet[..stored]);
            prop_assert_eq!(short, long);
        }
    }
}
