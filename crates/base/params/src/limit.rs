//! How much a buffer holds.

use unbloat_units::Bytes;

/// In the unit in which it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Bytes(Bytes),
    Packets(u32),
}

/// A full packet, when a size in bytes is wanted in packets.
const PACKET_BYTES: u64 = 1_500;

impl Limit {
    /// In full packets of 1,500 bytes, rounded up.
    pub fn packets(self) -> u32 {
        match self {
            Limit::Packets(packets) => packets,
            Limit::Bytes(bytes) => {
                let packets = bytes.as_u64().div_ceil(PACKET_BYTES);
                u32::try_from(packets).unwrap_or(u32::MAX)
            }
        }
    }

    /// In bytes, a packet being 1,500.
    pub fn bytes(self) -> Bytes {
        match self {
            Limit::Bytes(bytes) => bytes,
            Limit::Packets(packets) => Bytes::new(u64::from(packets) * PACKET_BYTES),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_in_one_unit_is_full_packets_in_the_other() {
        assert_eq!(Limit::Bytes(Bytes::new(1_501)).packets(), 2);
        assert_eq!(Limit::Bytes(Bytes::new(u64::MAX)).packets(), u32::MAX);
        assert_eq!(Limit::Packets(2).bytes(), Bytes::new(3_000));
        assert_eq!(
            (
                Limit::Packets(7).packets(),
                Limit::Bytes(Bytes::new(9)).bytes()
            ),
            (7, Bytes::new(9))
        );
    }
}
