//! Tunnels directly in IP or in UDP that carry frames or packets: GRE and VXLAN.
//!
//! # References
//! - RFC 2784 §2, RFC 2890 §2 (GRE, its key and sequence number), RFC 2637 §4.1 (PPTP's version 1)
//! - RFC 7348 §5 (VXLAN)

use crate::SkipReason;
use crate::frame::Carrier;
use crate::view::{View, be16};

/// Steps over a GRE header; its protocol field is an Ethernet type.
pub(crate) fn gre(view: View<'_>) -> Result<(Carrier, View<'_>), SkipReason> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const ACKNOWLEDGMENT: u16 = 0x0080;
    const VERSION: u16 = 0x0007;
    let header = view.bytes.first_chunk::<4>().ok_or(SkipReason::IpCut)?;
    let flags = be16(header, 0);
    let words = |mask: u16| (flags & mask).count_ones() as usize;
    let optional = match flags & VERSION {
        // RFC 2784 does away with source routes, whose length one would have to walk.
        0 if flags & ROUTING == 0 => words(CHECKSUM | KEY | SEQUENCE),
        1 => words(KEY | SEQUENCE | ACKNOWLEDGMENT),
        _ => return Err(SkipReason::TunnelMalformed),
    };
    let inner = view.skip(4 + 4 * optional).ok_or(SkipReason::IpCut)?;
    Ok((Carrier::EtherType(be16(header, 2)), inner))
}

/// The Ethernet frame in a VXLAN datagram; `None` if the flag that a network number must have is
/// not set, so that this is some other use of the port.
pub(crate) fn vxlan(payload: View<'_>) -> Result<Option<View<'_>>, SkipReason> {
    const HAS_NETWORK: u8 = 0x08;
    if payload.len < 8 {
        return Ok(None);
    }
    let header = payload.bytes.first_chunk::<8>();
    let header = header.ok_or(SkipReason::LinkCut)?;
    match header[0] & HAS_NETWORK {
        0 => Ok(None),
        _ => Ok(payload.skip(8)),
    }
}
