//! The UDP header (RFC 768).

use crate::tcp::Transport;
use crate::view::{View, be16};
use crate::{PacketFlags, SkipReason};

const HEADER: u32 = 8;

/// The length field counts the whole datagram even in its first fragment. Where it is 0
/// (RFC 2675 §4, and segmentation offload) or more than IP carried, IP's length stands in.
#[inline]
pub(crate) fn udp(view: View<'_>, ip_flags: PacketFlags) -> Result<Transport<'_>, SkipReason> {
    if view.len < HEADER {
        return Err(SkipReason::TransportMalformed);
    }
    let header = view.bytes.first_chunk::<8>();
    let header = header.ok_or(SkipReason::TransportCut)?;
    let fragment = ip_flags.has(PacketFlags::FIRST_FRAGMENT);
    let len = match u32::from(be16(header, 4)) {
        0 => view.len,
        1..HEADER => return Err(SkipReason::TransportMalformed),
        stated if stated <= view.len || fragment => stated,
        _ => view.len,
    };
    let payload = view.stated(len).skip(HEADER as usize);
    Ok(Transport {
        src_port: be16(header, 0),
        dst_port: be16(header, 2),
        header_len: HEADER,
        payload: payload.ok_or(SkipReason::TransportCut)?,
        ..Transport::default()
    })
}
