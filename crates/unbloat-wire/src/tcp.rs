//! The TCP header.
//!
//! # References
//! - RFC 9293 §3.1 (header), RFC 7323 §3.2 and appendix A (timestamps, their usual layout)
//!
//! # Where we differ
//! A capture may end within the header. From 16 bytes on, ports, sequence numbers, flags and window
//! are all there, and the packet counts with `HEADER_CUT`; with fewer it is skipped, since a window
//! or a flag byte of zero would be read as one.

use crate::options::{TcpOption, TcpOptions};
use crate::view::{View, be16, be32};
use crate::{PacketFlags, SkipReason, TcpFlags};
use unbloat_units::Seq;

/// A transport header of any protocol: what a protocol does not have is zero.
#[derive(Clone, Copy, Default)]
pub(crate) struct Transport<'a> {
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    pub(crate) seq: Seq,
    pub(crate) ack: Seq,
    pub(crate) tsval: Seq,
    pub(crate) tsecr: Seq,
    pub(crate) window: u16,
    pub(crate) tcp_flags: TcpFlags,
    pub(crate) flags: PacketFlags,
    pub(crate) header_len: u32,
    /// TCP options for the slow path.
    pub(crate) options: &'a [u8],
    pub(crate) payload: View<'a>,
}

impl<'a> Transport<'a> {
    /// Of a protocol whose header is not read: all above IP is payload.
    pub(crate) fn portless(payload: View<'a>) -> Transport<'a> {
        Transport {
            payload,
            ..Transport::default()
        }
    }
}

/// Bytes up to and including the window.
const FIXED: usize = 16;
/// NOP, NOP, timestamps: how every common system lays the option out (RFC 7323 appendix A).
const PADDED_TIMESTAMPS: u32 = 0x0101_080a;

#[inline]
pub(crate) fn tcp(view: View<'_>) -> Result<Transport<'_>, SkipReason> {
    let header = view.bytes.first_chunk::<FIXED>().ok_or(too_short(view))?;
    let header_len = u32::from(header[12] >> 4) * 4;
    if header_len < 20 || header_len > view.len {
        return Err(SkipReason::TransportMalformed);
    }
    let mut segment = Transport {
        src_port: be16(header, 0),
        dst_port: be16(header, 2),
        seq: Seq::new(be32(header, 4)),
        ack: Seq::new(be32(header, 8)),
        tcp_flags: TcpFlags(header[13]),
        window: be16(header, 14),
        header_len,
        ..Transport::default()
    };
    match view.bytes.first_chunk::<32>() {
        Some(all) if is_common(all) => {
            segment.flags.set(PacketFlags::TIMESTAMPS);
            segment.tsval = Seq::new(be32(all, 24));
            segment.tsecr = Seq::new(be32(all, 28));
        }
        _ if header_len > 20 => other_options(&mut segment, view),
        _ if view.bytes.len() < 20 => segment.flags.set(PacketFlags::HEADER_CUT),
        _ => {}
    }
    segment.payload = view.skip(header_len as usize).unwrap_or(View {
        bytes: &[],
        len: view.len - header_len,
    });
    Ok(segment)
}

/// 12 bytes of options, all of them timestamps, and no SYN, whose options are kept.
#[inline]
fn is_common(header: &[u8; 32]) -> bool {
    header[12] >> 4 == 8 && header[13] & TcpFlags::SYN == 0 && be32(header, 20) == PADDED_TIMESTAMPS
}

/// Every other layout: finds the timestamps, keeps the options of SYNs and those with SACK blocks.
fn other_options<'a>(segment: &mut Transport<'a>, view: View<'a>) {
    let header_len = segment.header_len as usize;
    if view.bytes.len() < header_len {
        segment.flags.set(PacketFlags::HEADER_CUT);
    }
    let options = view.bytes.get(20..).unwrap_or_default();
    let options = &options[..options.len().min(header_len - 20)];
    let mut keep = segment.tcp_flags.syn() && !options.is_empty();
    for option in TcpOptions::new(options) {
        match option {
            TcpOption::Timestamps { value, echo } => {
                segment.flags.set(PacketFlags::TIMESTAMPS);
                (segment.tsval, segment.tsecr) = (value, echo);
            }
            TcpOption::Sack(_) => keep = true,
            _ => {}
        }
    }
    if keep {
        segment.flags.set(PacketFlags::SLOW_OPTIONS);
        segment.options = options;
    }
}

fn too_short(view: View<'_>) -> SkipReason {
    if view.len < 20 {
        SkipReason::TransportMalformed
    } else {
        SkipReason::TransportCut
    }
}
