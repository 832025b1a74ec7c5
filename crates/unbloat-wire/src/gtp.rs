//! GTP-U: the tunnel between base station and gateway in mobile networks.
//!
//! # References
//! - 3GPP TS 29.281 §5.1 (header), §5.2 (extension headers), §6.1 (message types)
//! - 3GPP TS 38.415 §5.5.2 (PDU session container)
//!
//! # Where we differ
//! Ports prove nothing: a phone may itself send to port 2152, inside the tunnel or outside. Bytes
//! count as GTP-U only if version, type and the length (exactly the datagram's) agree and an IP
//! packet begins where the header ends; else the datagram stays what it is, UDP.

use crate::view::{View, be16};
use crate::{PacketFlags, SkipReason};

const HEADER: u32 = 8;
const G_PDU: u8 = 255;
const PDU_SESSION_CONTAINER: u8 = 0x85;
/// One of the next three flags is set: four optional bytes follow.
const ANY_OPTIONAL: u8 = 0x07;
const HAS_EXTENSIONS: u8 = 0x04;

/// The user's packet, with `PacketFlags` bits of the tunnel; `None` if this is no GTP-U.
#[inline]
pub(crate) fn user_packet(payload: View<'_>) -> Result<Option<(View<'_>, u16)>, SkipReason> {
    if payload.len < HEADER {
        return Ok(None);
    }
    let header = payload.bytes.first_chunk::<8>().ok_or(SkipReason::IpCut)?;
    let version_1 = header[0] & 0xf8 == 0x30;
    if !version_1 || u32::from(be16(header, 2)) + HEADER != payload.len {
        return Ok(None);
    }
    match header[1] {
        G_PDU => {}
        // Echo request and response, error indication, extension headers notification, tunnel
        // status, end marker.
        1 | 2 | 26 | 31 | 253 | 254 => return Err(SkipReason::GtpSignalling),
        _ => return Ok(None),
    }
    let body = payload.skip(HEADER as usize).ok_or(SkipReason::IpCut)?;
    let (inner, flags) = past_optional(header[0], body)?;
    match inner.bytes.first() {
        Some(first) => Ok(matches!(first >> 4, 4 | 6).then_some((inner, flags))),
        None if inner.len == 0 => Ok(None),
        None => Err(SkipReason::IpCut),
    }
}

/// Steps over sequence number, N-PDU number and extension headers. One flag among three is enough
/// for all four bytes to be there, and only the extension flag gives the last one a meaning.
#[inline]
fn past_optional(flags: u8, body: View<'_>) -> Result<(View<'_>, u16), SkipReason> {
    let mut tunnel = PacketFlags::GTP;
    if flags & ANY_OPTIONAL == 0 {
        return Ok((body, tunnel));
    }
    let optional = body.bytes.first_chunk::<4>().ok_or(cut(body, 4))?;
    let mut kind = match flags & HAS_EXTENSIONS {
        0 => 0,
        _ => optional[3],
    };
    let mut rest = body.skip(4).ok_or(SkipReason::IpCut)?;
    while kind != 0 {
        let &[words, content] = rest.bytes.first_chunk::<2>().ok_or(cut(rest, 2))?;
        let len = usize::from(words) * 4;
        let last = len.checked_sub(1).ok_or(SkipReason::TunnelMalformed)?;
        if kind == PDU_SESSION_CONTAINER {
            tunnel |= direction(content >> 4);
        }
        kind = *rest.bytes.get(last).ok_or(cut(rest, len))?;
        rest = rest.skip(len).ok_or(SkipReason::IpCut)?;
    }
    Ok((rest, tunnel))
}

fn direction(pdu_type: u8) -> u16 {
    match pdu_type {
        0 => PacketFlags::TUNNEL_DOWNLINK,
        1 => PacketFlags::TUNNEL_UPLINK,
        _ => 0,
    }
}

/// Why `need` bytes are not there: never sent, or not captured.
fn cut(view: View<'_>, need: usize) -> SkipReason {
    if (view.len as usize) < need {
        SkipReason::TunnelMalformed
    } else {
        SkipReason::IpCut
    }
}
