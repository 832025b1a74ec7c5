//! IPv6 and its extension headers.
//!
//! # References
//! - RFC 8200 §3 (header), §4 (extension headers), §4.5 (fragments); RFC 6946 (atomic fragments)
//! - RFC 2675 (jumbograms): a payload length of 0, as segmentation offload also leaves it
//!
//! # Where we differ
//! A jumbogram's length is taken from the record or the tunnel around it, not from its option.

use crate::ip::{AddressBits, Datagram, next};
use crate::view::{View, be16, be32, be64};
use crate::{PacketFlags, SkipReason};

/// Extension headers followed; RFC 8200 §4.1 knows of seven in their order.
const MAX_EXTENSIONS: usize = 16;

#[inline]
pub(crate) fn ipv6(view: View<'_>) -> Result<Datagram<'_>, SkipReason> {
    let header = view.bytes.first_chunk::<40>().ok_or(SkipReason::IpCut)?;
    if header[0] >> 4 != 6 {
        return Err(SkipReason::IpMalformed);
    }
    let body = view.skip(40).ok_or(SkipReason::IpCut)?;
    let protocol = header[6];
    let payload = match be16(header, 4) {
        0 if protocol != next::NONE => body,
        stated => body.stated(u32::from(stated)),
    };
    let datagram = Datagram {
        src: address(header, 8),
        dst: address(header, 24),
        protocol,
        tos: (be16(header, 0) >> 4) as u8,
        ip_id: 0,
        flags: PacketFlags(PacketFlags::IPV6),
        header_len: 40,
        payload,
    };
    if is_extension(protocol) {
        extensions(datagram)
    } else {
        Ok(datagram)
    }
}

fn is_extension(protocol: u8) -> bool {
    matches!(
        protocol,
        next::HOP_BY_HOP
            | next::ROUTING
            | next::FRAGMENT
            | next::AUTHENTICATION
            | next::DESTINATION
    )
}

#[inline(never)]
fn extensions(first: Datagram<'_>) -> Result<Datagram<'_>, SkipReason> {
    let mut datagram = first;
    for _ in 0..MAX_EXTENSIONS {
        if !is_extension(datagram.protocol) {
            return Ok(datagram);
        }
        if datagram.payload.len < 8 {
            return Err(SkipReason::IpMalformed);
        }
        let start = datagram.payload.bytes.first_chunk::<8>();
        let start = start.ok_or(SkipReason::IpCut)?;
        let len = match datagram.protocol {
            next::FRAGMENT => {
                fragment(&mut datagram, start)?;
                8
            }
            next::AUTHENTICATION => (u32::from(start[1]) + 2) * 4,
            _ => (u32::from(start[1]) + 1) * 8,
        };
        if len > datagram.payload.len {
            return Err(SkipReason::IpMalformed);
        }
        datagram.protocol = start[0];
        datagram.header_len += len;
        let rest = datagram.payload.skip(len as usize);
        datagram.payload = rest.ok_or(SkipReason::IpCut)?;
    }
    Err(SkipReason::IpMalformed)
}

/// The identification has 32 bits; its low half is kept, which is what tells neighbours apart.
fn fragment(datagram: &mut Datagram<'_>, header: &[u8; 8]) -> Result<(), SkipReason> {
    let field = be16(header, 2);
    if field >> 3 != 0 {
        return Err(SkipReason::LaterFragment);
    }
    if field & 1 != 0 {
        datagram.flags.set(PacketFlags::FIRST_FRAGMENT);
    }
    datagram.flags.set(PacketFlags::IP_ID);
    datagram.ip_id = be32(header, 4) as u16;
    Ok(())
}

#[inline]
fn address(header: &[u8; 40], at: usize) -> AddressBits {
    AddressBits(u128::from(be64(header, at)) << 64 | u128::from(be64(header, at + 8)))
}
