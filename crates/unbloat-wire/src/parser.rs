//! From a captured record to a packet header.

use crate::frame::{Carrier, IpVersion, ip_in};
use crate::ip::{Datagram, ipv4, next};
use crate::ipv6::ipv6;
use crate::payload::worth_keeping;
use crate::tcp::{Transport, tcp};
use crate::udp::udp;
use crate::view::View;
use crate::{Batch, FlowHasher, LinkType, PacketFlags, PacketHeader, SkipReason, protocol};
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

/// What a tunnel led to: its content, and flags that hold for all inside.
type Inner<'a> = (Carrier, View<'a>, u16);

impl Parser {
    pub fn new(params: ParserParams, hasher: FlowHasher) -> Parser {
        Parser { params, hasher }
    }

    /// Adds the next record of the trace to a batch that is not full: as a header, or to the count
    /// of what was skipped. `wire_len` is the record's length on the wire, `data` what was stored.
    #[inline]
    pub fn push(&self, batch: &mut Batch, link: LinkType, data: &[u8], wire_len: u32, time: Time) {
        debug_assert!(batch.packets < Batch::PACKETS, "restart a full batch");
        let offset = batch.packets as u16;
        batch.packets += 1;
        batch.wire_bytes += u64::from(wire_len);
        batch.watermark = batch.watermark.max(time);
        match self.parse(link, data, wire_len, time, offset, &mut batch.extra) {
            Ok(header) => batch.headers.push(header),
            Err(reason) => batch.skipped.count(reason),
        }
    }

    /// One record's innermost packet. Options and payload that analyses read are added to `extra`.
    #[inline]
    pub fn parse(
        &self,
        link: LinkType,
        data: &[u8],
        wire_len: u32,
        time: Time,
        offset: u16,
        extra: &mut Vec<u8>,
    ) -> Result<PacketHeader, SkipReason> {
        let (datagram, transport) = self.innermost(link, View::record(data, wire_len))?;
        let mut header = PacketHeader {
            time,
            flow_hash: self.hasher.hash(
                datagram.protocol,
                (&datagram.src, transport.src_port),
                (&datagram.dst, transport.dst_port),
            ),
            src: datagram.src,
            dst: datagram.dst,
            src_port: transport.src_port,
            dst_port: transport.dst_port,
            seq: transport.seq,
            ack: transport.ack,
            tsval: transport.tsval,
            tsecr: transport.tsecr,
            payload_len: transport.payload.len,
            wire_len,
            window: transport.window,
            ip_id: datagram.ip_id,
            flags: PacketFlags(datagram.flags.0 | transport.flags.0),
            offset,
            tcp_flags: transport.tcp_flags,
            protocol: datagram.protocol,
            tos: datagram.tos,
            options_len: 0,
            extra: 0,
            extra_len: 0,
            header_len: (datagram.header_len + transport.header_len) as u16,
        };
        let payload = worth_keeping(datagram.protocol, &transport);
        if !payload.is_empty() || !transport.options.is_empty() {
            keep(&mut header, transport.options, payload, extra);
        }
        Ok(header)
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
            if datagram.protocol == protocol::TCP {
                return Ok((datagram, tcp(datagram.payload)?));
            }
            match self.beyond_tcp(&datagram)? {
                Below::Packet(transport) => return Ok((datagram, transport)),
                Below::Tunnel((inner, content, flags)) => {
                    (carrier, view) = (inner, content);
                    tunnel_flags |= flags;
                }
            }
        }
        Err(SkipReason::TunnelDepth)
    }

    #[inline(never)]
    fn beyond_tcp<'a>(&self, datagram: &Datagram<'a>) -> Result<Below<'a>, SkipReason> {
        let payload = datagram.payload;
        match datagram.protocol {
            protocol::UDP => {
                let transport = udp(datagram)?;
                let inner = self.tunnel_in_udp(&transport)?;
                Ok(inner.map_or(Below::Packet(transport), Below::Tunnel))
            }
            next::IPV4 | next::IPV6 => Ok(Below::Tunnel((Carrier::Ip, payload, 0))),
            next::MPLS => Ok(Below::Tunnel((Carrier::Mpls, payload, 0))),
            next::GRE => {
                let (carrier, inner) = tunnel::gre(payload)?;
                Ok(Below::Tunnel((carrier, inner, 0)))
            }
            next::ESP => Err(SkipReason::Opaque),
            _ => Ok(Below::Packet(Transport {
                payload,
                ..Transport::default()
            })),
        }
    }

    #[inline]
    fn tunnel_in_udp<'a>(
        &self,
        transport: &Transport<'a>,
    ) -> Result<Option<Inner<'a>>, SkipReason> {
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

/// What an IP packet carries: a transport header, or a tunnel.
enum Below<'a> {
    Packet(Transport<'a>),
    Tunnel(Inner<'a>),
}

/// Adds options and payload to `extra` and points the header at them.
#[inline(never)]
fn keep(header: &mut PacketHeader, options: &[u8], payload: &[u8], extra: &mut Vec<u8>) {
    header.extra = extra.len() as u32;
    header.options_len = options.len() as u8;
    header.extra_len = (options.len() + payload.len()) as u16;
    if !payload.is_empty() {
        header.flags.set(PacketFlags::APP_PAYLOAD);
    }
    extra.extend_from_slice(options);
    extra.extend_from_slice(payload);
}
