//! From a captured record to a packet header.

use crate::frame::{Carrier, IpVersion, ip_in};
use crate::ip::{Datagram, ipv4, next};
use crate::ipv6::ipv6;
use crate::payload::{is_tcp_worth_keeping, kept_of, worth_keeping};
use crate::tcp::{Transport, tcp};
use crate::udp::udp;
use crate::usual::Usual;
use crate::view::View;
use crate::{
    Address, Batch, FlowHasher, LinkType, PacketFlags, PacketHeader, SkipReason, protocol,
};
use crate::{gtp, tunnel};
use unbloat_units::Time;

/// IP packets inside one another that are followed, the outermost included.
const MAX_DEPTH: usize = 8;

/// Where tunnels over UDP are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParserParams {
    /// Either port of the datagram may be one of these.
    pub gtp_ports: Vec<u16>,
    /// Destination ports; a VXLAN source port is a hash of the flow inside.
    pub vxlan_ports: Vec<u16>,
}

impl Default for ParserParams {
    /// The registered ports: 2152 (3GPP TS 29.281 §4.4.2) and 4789 (RFC 7348 §5).
    fn default() -> ParserParams {
        ParserParams {
            gtp_ports: vec![2152],
            vxlan_ports: vec![4789],
        }
    }
}

/// Reads packet headers out of captured records. It keeps nothing from one record to the next, so
/// any number of them may work on parts of a trace and give the same headers.
#[derive(Clone, Debug)]
pub struct Parser {
    params: ParserParams,
    hasher: FlowHasher,
}

impl Parser {
    pub fn new(params: ParserParams, hasher: FlowHasher) -> Parser {
        Parser { params, hasher }
    }

    /// Adds the next record of the trace to a batch that is not full: as a header, or to the count
    /// of what was skipped. `wire_len` is the record's length on the wire, `data` what was stored.
    #[inline]
    pub fn push(&self, batch: &mut Batch, link: LinkType, data: &[u8], wire_len: u32, time: Time) {
        debug_assert!(batch.packets < Batch::PACKETS, "restart a full batch");
        let place = Place {
            offset: batch.packets as u16,
            wire_len,
            time,
        };
        batch.packets += 1;
        batch.wire_bytes += u64::from(wire_len);
        batch.watermark = batch.watermark.max(time);
        let usual = match link {
            LinkType::Ethernet => Usual::find(data, &self.params.gtp_ports),
            _ => None,
        };
        match usual {
            Some(packet) => self.push_usual(batch, place, &packet),
            None => self.push_unusual(batch, place, link, View::record(data, wire_len)),
        }
    }

    #[inline(always)]
    fn push_usual(&self, batch: &mut Batch, place: Place, packet: &Usual<'_>) {
        batch.headers.push(PacketHeader::default());
        let Some(header) = batch.headers.last_mut() else {
            return;
        };
        (header.time, header.wire_len, header.offset) = (place.time, place.wire_len, place.offset);
        packet.write_to(header, &self.hasher);
        if is_tcp_worth_keeping(packet.payload, packet.ports()) {
            let kept = append(&[], kept_of(packet.payload), &mut batch.extra);
            header.flags.set(kept.flags);
            (header.extra, header.extra_len) = (kept.start, kept.len);
        }
    }

    #[inline(never)]
    fn push_unusual(&self, batch: &mut Batch, place: Place, link: LinkType, record: View<'_>) {
        match self.innermost(link, record) {
            Ok((datagram, transport)) => self.add(batch, place, &datagram, &transport),
            Err(reason) => {
                batch.skipped.count(reason);
                if let LinkType::Other(number) = link {
                    batch.unread_links.add(number, 1);
                }
            }
        }
    }

    fn add(
        &self,
        batch: &mut Batch,
        place: Place,
        datagram: &Datagram<'_>,
        transport: &Transport<'_>,
    ) {
        let kept = keep(datagram.protocol, transport, &mut batch.extra);
        let header = self.header(datagram, transport, &kept);
        batch.headers.push(PacketHeader {
            time: place.time,
            wire_len: place.wire_len,
            offset: place.offset,
            ..header
        });
    }

    /// All of a header that the packet's bytes tell.
    fn header(
        &self,
        datagram: &Datagram<'_>,
        transport: &Transport<'_>,
        kept: &Kept,
    ) -> PacketHeader {
        PacketHeader {
            time: Time::default(),
            flow_hash: self.hasher.hash_bits(
                datagram.protocol,
                (datagram.src, transport.src_port),
                (datagram.dst, transport.dst_port),
            ),
            src: Address(datagram.src.octets()),
            dst: Address(datagram.dst.octets()),
            src_port: transport.src_port,
            dst_port: transport.dst_port,
            seq: transport.seq,
            ack: transport.ack,
            tsval: transport.tsval,
            tsecr: transport.tsecr,
            payload_len: transport.payload.len,
            wire_len: 0,
            window: transport.window,
            ip_id: datagram.ip_id,
            flags: PacketFlags(
                datagram.flags.0 | transport.flags.0 | kept.flags | cut(transport.payload),
            ),
            offset: 0,
            tcp_flags: transport.tcp_flags,
            protocol: datagram.protocol,
            tos: datagram.tos,
            options_len: kept.options_len,
            extra: kept.start,
            extra_len: kept.len,
            header_len: (datagram.header_len + transport.header_len) as u16,
        }
    }

    /// Goes down through the tunnels to the last IP packet and its transport header.
    #[inline]
    fn innermost<'a>(
        &self,
        link: LinkType,
        record: View<'a>,
    ) -> Result<(Datagram<'a>, Transport<'a>), SkipReason> {
        let (mut carrier, mut view) = link.strip(record)?;
        let mut tunnel_flags = 0;
        for _ in 0..MAX_DEPTH {
            let mut datagram = match ip_in(carrier, view)? {
                (IpVersion::V4, packet) => ipv4(packet)?,
                (IpVersion::V6, packet) => ipv6(packet)?,
            };
            datagram.flags.set(tunnel_flags);
            let payload = datagram.payload;
            let (inner, content, flags) = match datagram.protocol {
                protocol::TCP => return Ok((datagram, tcp(payload, datagram.flags)?)),
                protocol::UDP => {
                    let transport = udp(payload, datagram.flags)?;
                    match self.tunnel_in_udp(&transport)? {
                        Some(inner) => inner,
                        None => return Ok((datagram, transport)),
                    }
                }
                number => match tunnel_in_ip(number, payload)? {
                    Some((inner, content)) => (inner, content, 0),
                    None => return Ok((datagram, Transport::portless(payload))),
                },
            };
            (carrier, view) = (inner, content);
            tunnel_flags |= flags;
        }
        Err(SkipReason::TunnelDepth)
    }

    /// Where a tunnel over UDP leads, with the flags of all inside.
    #[inline]
    fn tunnel_in_udp<'a>(
        &self,
        transport: &Transport<'a>,
    ) -> Result<Option<(Carrier, View<'a>, u16)>, SkipReason> {
        let (src, dst) = (transport.src_port, transport.dst_port);
        let gtp_ports = &self.params.gtp_ports;
        if gtp_ports.contains(&dst) || gtp_ports.contains(&src) {
            let inner = gtp::user_packet(transport.payload)?;
            Ok(inner.map(|(packet, flags)| (Carrier::Ip, packet, flags)))
        } else if self.params.vxlan_ports.contains(&dst) {
            let inner = tunnel::vxlan(transport.payload)?;
            Ok(inner.map(|frame| (Carrier::Ethernet, frame, 0)))
        } else {
            Ok(None)
        }
    }
}

/// The flag that says whether payload was there and nothing of it stored.
fn cut(payload: View<'_>) -> u16 {
    if payload.len > 0 && payload.bytes.is_empty() {
        PacketFlags::PAYLOAD_CUT
    } else {
        0
    }
}

/// Where a tunnel directly over IP leads.
fn tunnel_in_ip(number: u8, payload: View<'_>) -> Result<Option<(Carrier, View<'_>)>, SkipReason> {
    match number {
        next::IPV4 | next::IPV6 => Ok(Some((Carrier::Ip, payload))),
        next::MPLS => Ok(Some((Carrier::Mpls, payload))),
        next::GRE => tunnel::gre(payload).map(Some),
        next::ESP => Err(SkipReason::Opaque),
        _ => Ok(None),
    }
}

/// What the record says of a packet, whatever is in it.
#[derive(Clone, Copy)]
struct Place {
    offset: u16,
    wire_len: u32,
    time: Time,
}

/// Where in the batch's `extra` a packet's options and payload went.
#[derive(Default)]
struct Kept {
    start: u32,
    len: u16,
    options_len: u8,
    flags: u16,
}

/// Adds options and payload that analyses read to `extra`; most packets have none.
#[inline]
fn keep(number: u8, transport: &Transport<'_>, extra: &mut Vec<u8>) -> Kept {
    let payload = worth_keeping(number, transport);
    if payload.is_empty() && transport.options.is_empty() {
        Kept::default()
    } else {
        append(transport.options, payload, extra)
    }
}

#[inline(never)]
fn append(options: &[u8], payload: &[u8], extra: &mut Vec<u8>) -> Kept {
    let start = extra.len() as u32;
    extra.extend_from_slice(options);
    extra.extend_from_slice(payload);
    Kept {
        start,
        len: (options.len() + payload.len()) as u16,
        options_len: options.len() as u8,
        flags: if payload.is_empty() {
            0
        } else {
            PacketFlags::APP_PAYLOAD
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{packet, parser};

    #[test]
    fn every_record_counts_in_the_batch_whether_it_has_a_header_or_not() {
        let mut batch = Batch::default();
        let times = [5, 9, 7].map(Time::from_ns);
        for (time, link) in times.into_iter().zip([101, 105, 101]) {
            parser().push(&mut batch, link.into(), &packet(), 1000, time);
        }
        assert_eq!((batch.packets, batch.wire_bytes), (3, 3000));
        assert_eq!(batch.skipped.get(SkipReason::LinkType), 1);
        assert_eq!(batch.unread_links.iter().collect::<Vec<_>>(), [(105, 1)]);
        assert_eq!(batch.watermark, Time::from_ns(9));
        let places: Vec<_> = batch.headers.iter().map(|h| (h.offset, h.time)).collect();
        assert_eq!(places, [(0, times[0]), (2, times[2])]);
        assert_eq!(batch.headers[0].wire_len, 1000);
        assert_eq!(batch.headers[0].flow_hash, batch.headers[1].flow_hash);
    }

    #[test]
    fn the_hash_is_that_of_the_innermost_packet_s_ends() {
        let mut batch = Batch::default();
        parser().push(&mut batch, 101.into(), &packet(), 57, Time::default());
        let header = batch.headers[0];
        let expected = FlowHasher::with_seed(1).hash(
            header.protocol,
            (header.dst, header.dst_port),
            (header.src, header.src_port),
        );
        assert_eq!(header.flow_hash, expected);
    }
}
