//! The Internet checksum (RFC 1071).

use std::net::IpAddr;

/// The ones' complement sum of words.
pub(crate) fn sum(words: &[u16]) -> u16 {
    let mut all: u32 = words.iter().map(|&word| u32::from(word)).sum();
    while all > 0xffff {
        all = (all & 0xffff) + (all >> 16);
    }
    all as u16
}

/// The checksum of a TCP segment of an even number of bytes, whose own field is zero.
pub(crate) fn tcp(from: IpAddr, to: IpAddr, segment: &[u8]) -> u16 {
    let mut bytes = Vec::with_capacity(64);
    for address in [from, to] {
        match address {
            IpAddr::V4(address) => bytes.extend(address.octets()),
            IpAddr::V6(address) => bytes.extend(address.octets()),
        }
    }
    // Both pseudo-headers come to the same sum.
    bytes.extend([0, libc::IPPROTO_TCP as u8]);
    bytes.extend((segment.len() as u16).to_be_bytes());
    bytes.extend(segment);
    of(&bytes)
}

/// The checksum of an even number of bytes: zero if theirs is in them already.
pub(crate) fn of(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks_exact(2)
        .map(|b| u16::from_be_bytes([b[0], b[1]]));
    !sum(&words.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn the_example_of_rfc_1071_and_a_segment_that_holds_its_sum() {
        assert_eq!(sum(&[0x0001, 0xf203, 0xf4f5, 0xf6f7]), 0xddf2);
        let (from, to) = (
            Ipv4Addr::new(10, 0, 0, 1).into(),
            Ipv4Addr::LOCALHOST.into(),
        );
        let mut segment = [7; 20];
        segment[16..18].fill(0);
        let check = tcp(from, to, &segment);
        segment[16..18].copy_from_slice(&check.to_be_bytes());
        assert_eq!(tcp(from, to, &segment), 0);
    }
}
