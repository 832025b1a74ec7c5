//! The packets that nearly all are, read at fixed places: TCP with nothing but timestamps, in IPv4
//! without options, directly in Ethernet or in GTP-U without optional fields.
//!
//! Whatever is not exactly that goes the long way, which gives the same for these packets too, at
//! three times the cost.

use crate::frame::ethertype;
use crate::ip::{AddressBits, Datagram};
use crate::tcp::{PADDED_TIMESTAMPS, Transport};
use crate::view::{View, be16, be32};
use crate::{PacketFlags, TcpFlags, protocol};
use unbloat_units::Seq;

/// IPv4 of version 4 with a header of five words.
const IPV4: u8 = 0x45;
/// More fragments, or an offset.
const FRAGMENT: u16 = 0x3fff;
const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 32;
/// IP, UDP and GTP-U.
const TUNNEL: usize = 36;

/// The IPv4 packet that an Ethernet frame begins with.
#[inline(always)]
pub(crate) fn in_ethernet(frame: View<'_>) -> Option<View<'_>> {
    let header = frame.bytes.first_chunk::<14>()?;
    if be16(header, 12) != ethertype::IPV4 {
        return None;
    }
    frame.skip(14)
}

/// The user's packet in a tunnel between one of `ports` and any port.
#[inline(always)]
pub(crate) fn in_gtp<'a>(packet: View<'a>, ports: &[u16]) -> Option<View<'a>> {
    let header = packet.bytes.first_chunk::<TUNNEL>()?;
    let is_udp = header[0] == IPV4 && header[9] == protocol::UDP;
    if !is_udp || be16(header, 6) & FRAGMENT != 0 {
        return None;
    }
    let has_port = ports.contains(&be16(header, 22)) || ports.contains(&be16(header, 20));
    // Version 1, no optional field, a user's packet.
    let is_user_data = be16(header, 28) == 0x30ff;
    let [total, udp, user] = [2, 24, 30].map(|at| u32::from(be16(header, at)));
    let lengths_agree = total == udp + 20 && udp == user + 16;
    if has_port && is_user_data && lengths_agree {
        packet.stated(total).skip(TUNNEL)
    } else {
        None
    }
}

/// The packet's two headers, if they are as usual.
#[inline(always)]
pub(crate) fn tcp_in_ipv4(packet: View<'_>) -> Option<(Datagram<'_>, Transport<'_>)> {
    let (ip, rest) = packet.bytes.split_first_chunk::<IP_HEADER>()?;
    let tcp = rest.first_chunk::<TCP_HEADER>()?;
    let total = u32::from(be16(ip, 2));
    let is_usual = ip[0] == IPV4
        && ip[9] == protocol::TCP
        && be16(ip, 6) & FRAGMENT == 0
        && total as usize >= IP_HEADER + TCP_HEADER
        && tcp[12] >> 4 == 8
        && tcp[13] & TcpFlags::SYN == 0
        && be32(tcp, 20) == PADDED_TIMESTAMPS;
    if !is_usual {
        return None;
    }
    let payload = packet.stated(total).skip(IP_HEADER)?;
    let mapped = |at| AddressBits(0xffff_0000_0000 | u128::from(be32(ip, at)));
    let datagram = Datagram {
        src: mapped(12),
        dst: mapped(16),
        protocol: protocol::TCP,
        tos: ip[1],
        ip_id: be16(ip, 4),
        flags: PacketFlags(PacketFlags::IP_ID),
        header_len: IP_HEADER as u32,
        payload,
    };
    let transport = Transport {
        src_port: be16(tcp, 0),
        dst_port: be16(tcp, 2),
        seq: Seq::new(be32(tcp, 4)),
        ack: Seq::new(be32(tcp, 8)),
        tsval: Seq::new(be32(tcp, 24)),
        tsecr: Seq::new(be32(tcp, 28)),
        window: be16(tcp, 14),
        tcp_flags: TcpFlags(tcp[13]),
        flags: PacketFlags(PacketFlags::TIMESTAMPS),
        header_len: TCP_HEADER as u32,
        options: &[],
        payload: payload.skip(TCP_HEADER)?,
    };
    Some((datagram, transport))
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
