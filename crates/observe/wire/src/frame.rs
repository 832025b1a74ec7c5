//! From a frame to the IP packet in it: Ethernet, VLAN tags, LLC, MPLS, PPPoE, PPP.
//!
//! # References
//! - IEEE 802.3 §3.2.6 (length or type), 802.1Q §9 (tags), 802 §9 (LLC, SNAP)
//! - RFC 3032 §2.1 (MPLS label stack), RFC 4928 §3 (its payload told by the first nibble)
//! - RFC 4385 §3 (pseudowire control word), RFC 2516 §4 (PPPoE), RFC 1661 §2, RFC 1662 §3.1 (PPP)

use crate::SkipReason;
use crate::view::{View, be16, be32};

/// What bytes begin with, on the way to an IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    Ethernet,
    /// The payload of a frame of this type, or of LLC if the number is a length.
    EtherType(u16),
    /// IP of the version that its first nibble says.
    Ip,
    Ppp,
    Mpls,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IpVersion {
    V4,
    V6,
}

pub(crate) mod ethertype {
    pub(crate) const IPV4: u16 = 0x0800;
    pub(crate) const IPV6: u16 = 0x86dd;
    pub(crate) const VLAN: u16 = 0x8100;
    pub(crate) const SERVICE_VLAN: u16 = 0x88a8;
    /// Stacked tags before 802.1ad.
    pub(crate) const OLD_QINQ: u16 = 0x9100;
    pub(crate) const MPLS: u16 = 0x8847;
    pub(crate) const MPLS_MULTICAST: u16 = 0x8848;
    pub(crate) const PPPOE_SESSION: u16 = 0x8864;
    /// Ethernet in GRE (RFC 7637 §3.2).
    pub(crate) const BRIDGED_ETHERNET: u16 = 0x6558;
    /// PPP in GRE (RFC 2637 §4.1).
    pub(crate) const PPP: u16 = 0x880b;
    /// Up to here the field is a length, and LLC follows.
    pub(crate) const MAX_LENGTH: u16 = 1500;
}

type Step<'a> = Result<(Carrier, View<'a>), SkipReason>;

/// Walks down to the IP header. Every step but the last takes bytes off, so it ends.
#[inline]
pub(crate) fn ip_in<'a>(
    start: Carrier,
    frame: View<'a>,
) -> Result<(IpVersion, View<'a>), SkipReason> {
    let (mut carrier, mut view) = (start, frame);
    loop {
        (carrier, view) = match carrier {
            Carrier::Ethernet => ethernet(view)?,
            Carrier::EtherType(ethertype::IPV4) => return Ok((IpVersion::V4, view)),
            Carrier::EtherType(ethertype::IPV6) => return Ok((IpVersion::V6, view)),
            Carrier::EtherType(number) => encapsulated(number, view)?,
            Carrier::Ip => return Ok((version(view)?, view)),
            Carrier::Ppp => ppp(view)?,
            Carrier::Mpls => mpls(view)?,
        };
    }
}

#[inline]
fn ethernet(view: View<'_>) -> Step<'_> {
    let header = view.bytes.first_chunk::<14>().ok_or(SkipReason::LinkCut)?;
    after(view, 14, Carrier::EtherType(be16(header, 12)))
}

fn encapsulated(number: u16, view: View<'_>) -> Step<'_> {
    match number {
        ethertype::VLAN | ethertype::SERVICE_VLAN | ethertype::OLD_QINQ => {
            let tag = view.bytes.first_chunk::<4>().ok_or(SkipReason::LinkCut)?;
            after(view, 4, Carrier::EtherType(be16(tag, 2)))
        }
        ethertype::MPLS | ethertype::MPLS_MULTICAST => Ok((Carrier::Mpls, view)),
        ethertype::PPPOE_SESSION => pppoe(view),
        ethertype::BRIDGED_ETHERNET => Ok((Carrier::Ethernet, view)),
        ethertype::PPP => Ok((Carrier::Ppp, view)),
        0..=ethertype::MAX_LENGTH => llc(view),
        _ => Err(SkipReason::NotIp),
    }
}

fn version(view: View<'_>) -> Result<IpVersion, SkipReason> {
    match view.bytes.first().ok_or(SkipReason::IpCut)? >> 4 {
        4 => Ok(IpVersion::V4),
        6 => Ok(IpVersion::V6),
        _ => Err(SkipReason::IpMalformed),
    }
}

fn llc(view: View<'_>) -> Step<'_> {
    match view.bytes.first_chunk::<3>().ok_or(SkipReason::LinkCut)? {
        [0x06, 0x06, 0x03] => after(view, 3, Carrier::Ip),
        [0xaa, 0xaa, 0x03] => {
            let snap = view.bytes.first_chunk::<8>().ok_or(SkipReason::LinkCut)?;
            match snap[3..6] {
                // RFC 1042, and the bridge-tunnel encapsulation of 802.1H.
                [0, 0, 0] | [0, 0, 0xf8] => after(view, 8, Carrier::EtherType(be16(snap, 6))),
                _ => Err(SkipReason::NotIp),
            }
        }
        _ => Err(SkipReason::NotIp),
    }
}

fn pppoe(view: View<'_>) -> Step<'_> {
    let header = view.bytes.first_chunk::<6>().ok_or(SkipReason::LinkCut)?;
    match header {
        // Version 1, type 1, code 0: session data.
        [0x11, 0x00, ..] => after(view, 6, Carrier::Ppp),
        _ => Err(SkipReason::NotIp),
    }
}

/// The protocol field may be one byte (RFC 1661 §6.5): an odd byte ends it.
fn ppp(view: View<'_>) -> Step<'_> {
    let framing = match view.bytes {
        [0xff, 0x03, ..] => 2,
        _ => 0,
    };
    let (protocol, len) = match view.bytes.get(framing..) {
        Some([short, ..]) if short & 1 == 1 => (u16::from(*short), 1),
        Some([high, low, ..]) => (u16::from_be_bytes([*high, *low]), 2),
        _ => return Err(SkipReason::LinkCut),
    };
    let inner = match protocol {
        0x0021 => Carrier::EtherType(ethertype::IPV4),
        0x0057 => Carrier::EtherType(ethertype::IPV6),
        0x0281 | 0x0283 => Carrier::Mpls,
        // Encrypted (RFC 1968), compressed or MPPE (RFC 1962, 3078).
        0x0053 | 0x00fd => return Err(SkipReason::Opaque),
        _ => return Err(SkipReason::NotIp),
    };
    after(view, framing + len, inner)
}

/// One label; below the last one nothing says what follows, so the first nibble is asked: IP, a
/// pseudowire's control word (0), its associated channel (1), else an Ethernet address.
fn mpls(view: View<'_>) -> Step<'_> {
    let label = view.bytes.first_chunk::<4>().ok_or(SkipReason::LinkCut)?;
    let bottom_of_stack = be32(label, 0) & 0x100 != 0;
    if !bottom_of_stack {
        return after(view, 4, Carrier::Mpls);
    }
    match view.bytes.get(4).ok_or(SkipReason::LinkCut)? >> 4 {
        4 | 6 => after(view, 4, Carrier::Ip),
        0 => after(view, 8, Carrier::Ethernet),
        1 => Err(SkipReason::NotIp),
        _ => after(view, 4, Carrier::Ethernet),
    }
}

#[inline]
fn after(view: View<'_>, len: usize, carrier: Carrier) -> Step<'_> {
    Ok((carrier, view.skip(len).ok_or(SkipReason::LinkCut)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cut, ethernet, packet, whole};

    /// The skip reason, or the payload length, of an Ethernet frame with `framing` before IPv4.
    fn framed(number: u16, framing: &[u8]) -> Result<u32, SkipReason> {
        let frame = ethernet(number, &[framing, &packet()].concat());
        whole(1, &frame).map(|header| header.payload_len)
    }

    #[test]
    fn tags_labels_and_sessions_are_walked_over() {
        let bridged = [&[0, 0, 1, 64, 0, 0, 0, 0][..], &ethernet(0x0800, &[])].concat();
        let framings: [(u16, &[u8]); 11] = [
            (0x8100, &[0, 5, 8, 0]),
            (0x88a8, &[0, 5, 0x81, 0, 0, 6, 8, 0]),
            (0x9100, &[0, 5, 0x81, 0, 0, 6, 8, 0]),
            (0x8847, &[0, 0, 0x11, 64]),
            (0x8847, &[0, 0, 0x10, 64, 0, 0, 0x21, 64]),
            (0x8848, &bridged),
            (0x8847, &[&[0, 0, 1, 64][..], &[0x2a; 12], &[8, 0]].concat()),
            (0x8864, &[0x11, 0, 0, 1, 0, 59, 0x00, 0x21]),
            (
                0x8100,
                &[0, 5, 0x88, 0x64, 0x11, 0, 0, 1, 0, 59, 0x00, 0x21],
            ),
            (65, &[0xaa, 0xaa, 0x03, 0, 0, 0, 8, 0]),
            (60, &[0x06, 0x06, 0x03]),
        ];
        for (number, framing) in framings {
            assert_eq!(framed(number, framing), Ok(5), "{number:#x} {framing:?}");
        }
    }

    #[test]
    fn frames_without_ip_are_counted_as_such() {
        for (number, framing) in [
            (0x0806, &[][..]),
            (0x8863, &[0x11, 9, 0, 0, 0, 0]),
            (0x8864, &[0x11, 0, 0, 1, 0, 59, 0xc0, 0x21]),
            (0x8847, &[0, 0, 1, 64, 0x10]),
            (38, &[0x42, 0x42, 0x03]),
            (60, &[0xaa, 0xaa, 0x03, 0, 0, 0x0c, 8, 0]),
        ] {
            let found = framed(number, framing);
            assert_eq!(found, Err(SkipReason::NotIp), "{number:#x} {framing:?}");
        }
        let encrypted = framed(0x8864, &[0x11, 0, 0, 1, 0, 59, 0x00, 0xfd]);
        assert_eq!(encrypted, Err(SkipReason::Opaque));
    }

    #[test]
    fn a_frame_cut_within_its_tags_is_cut_not_malformed() {
        let frame = ethernet(
            0x88a8,
            &[&[0, 5, 0x81, 0, 0, 6, 8, 0], &packet()[..]].concat(),
        );
        for stored in 0..22 {
            assert_eq!(cut(1, &frame, stored), Err(SkipReason::LinkCut), "{stored}");
        }
        assert_eq!(cut(1, &frame, 22), Err(SkipReason::IpCut));
    }
}
