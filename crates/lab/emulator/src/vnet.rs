//! The header that stands before each packet of a TUN device with IFF_VNET_HDR: what the sender left to the device.
//!
//! # References
//! Virtio 1.2 section 5.1.6 (`struct virtio_net_hdr`, the legacy form of ten bytes in the host's byte order, which is what
//! TUN devices speak unless told otherwise); `include/uapi/linux/virtio_net.h`.

/// Bytes before each packet.
pub const LEN: usize = 10;

const NEEDS_CSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;

/// What the sender asks of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VnetHeader {
    /// The checksum at `csum_start + csum_offset` covers the pseudo-header only; the device sums from `csum_start` on.
    pub needs_csum: bool,
    /// The kernel has verified the checksum.
    pub is_valid: bool,
    pub csum_start: u16,
    pub csum_offset: u16,
    pub header_len: u16,
    /// Payload of each TCP segment but the last; none: not to be split.
    pub gso: Option<Gso>,
}

/// One packet that stands for many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gso {
    pub is_v6: bool,
    pub segment: u16,
}

impl VnetHeader {
    /// None: a kind of offload that nobody asked the device for.
    pub fn parse(bytes: [u8; LEN]) -> Option<VnetHeader> {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let gso = match bytes[1] {
            0 => None,
            kind @ (GSO_TCP4 | GSO_TCP6) => Some(Gso {
                is_v6: kind == GSO_TCP6,
                segment: word(4),
            }),
            _ => return None,
        };
        Some(VnetHeader {
            needs_csum: bytes[0] & NEEDS_CSUM != 0,
            is_valid: bytes[0] & DATA_VALID != 0,
            header_len: word(2),
            csum_start: word(6),
            csum_offset: word(8),
            gso,
        })
    }

    pub fn bytes(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[0] = match (self.needs_csum, self.is_valid) {
            (true, _) => NEEDS_CSUM,
            (false, true) => DATA_VALID,
            (false, false) => 0,
        };
        let (kind, segment) = match self.gso {
            None => (0, 0),
            Some(gso) if gso.is_v6 => (GSO_TCP6, gso.segment),
            Some(gso) => (GSO_TCP4, gso.segment),
        };
        bytes[1] = kind;
        bytes[2..4].copy_from_slice(&self.header_len.to_ne_bytes());
        bytes[4..6].copy_from_slice(&segment.to_ne_bytes());
        bytes[6..8].copy_from_slice(&self.csum_start.to_ne_bytes());
        bytes[8..10].copy_from_slice(&self.csum_offset.to_ne_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_way_there_and_back() {
        let header = VnetHeader {
            needs_csum: true,
            is_valid: false,
            csum_start: 20,
            csum_offset: 16,
            header_len: 52,
            gso: Some(Gso {
                is_v6: false,
                segment: 1448,
            }),
        };
        assert_eq!(VnetHeader::parse(header.bytes()), Some(header));
        let plain = VnetHeader {
            is_valid: true,
            ..VnetHeader::default()
        };
        assert_eq!(VnetHeader::parse(plain.bytes()), Some(plain));
    }

    #[test]
    fn offloads_that_were_not_asked_for_are_refused() {
        for kind in [2, 3, 5, 0x81] {
            assert_eq!(VnetHeader::parse([0, kind, 0, 0, 0, 0, 0, 0, 0, 0]), None);
        }
    }
}
