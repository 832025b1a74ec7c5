//! Segments that no wire carries whole.
//!
//! An Ethernet frame carries an IP packet of up to 1,500 bytes, a jumbo frame usually one of up to
//! 9,000. A TCP packet beyond 9,216 bytes was therefore captured before the interface or the kernel
//! cut it, or after they merged it. Between the two sizes the sizes themselves tell: full jumbo frames are all
//! of one size, merged segments are of many.

use crate::Offload;
use serde::{Deserialize, Serialize};
use unbloat_wire::PacketHeader;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sizes {
    data_packets: u64,
    beyond_ethernet: u64,
    beyond_jumbo: u64,
    largest: u32,
    of_largest: u64,
}

impl Sizes {
    const ETHERNET: u32 = 1500;
    const JUMBO: u32 = 9216;

    #[inline]
    pub(crate) fn look(&mut self, header: &PacketHeader) {
        self.data_packets += 1;
        let len = u32::from(header.header_len) + header.payload_len;
        if len > Self::ETHERNET {
            self.large(len);
        }
    }

    #[cold]
    fn large(&mut self, len: u32) {
        self.beyond_ethernet += 1;
        self.beyond_jumbo += u64::from(len > Self::JUMBO);
        if len > self.largest {
            (self.largest, self.of_largest) = (len, 0);
        }
        self.of_largest += u64::from(len == self.largest);
    }

    /// Adds those of the part of a capture that follows.
    pub(crate) fn absorb(&mut self, later: Sizes) {
        self.data_packets += later.data_packets;
        self.beyond_ethernet += later.beyond_ethernet;
        self.beyond_jumbo += later.beyond_jumbo;
        if later.largest > self.largest {
            (self.largest, self.of_largest) = (later.largest, later.of_largest);
        } else if later.largest == self.largest {
            self.of_largest += later.of_largest;
        }
    }

    pub(crate) fn found(&self) -> Offload {
        let are_jumbo = self.beyond_jumbo == 0 && 2 * self.of_largest >= self.beyond_ethernet;
        Offload {
            data_packets: self.data_packets,
            large_packets: if are_jumbo { 0 } else { self.beyond_ethernet },
            largest_bytes: if are_jumbo {
                0
            } else {
                u64::from(self.largest)
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lens: &[u32]) -> Offload {
        let mut sizes = Sizes::default();
        for &len in lens {
            sizes.look(&PacketHeader {
                header_len: 52,
                payload_len: len - 52,
                ..PacketHeader::default()
            });
        }
        sizes.found()
    }

    #[test]
    fn merged_segments_count_and_jumbo_frames_do_not() {
        assert_eq!(found(&[1500, 1500, 400]).large_packets, 0);
        assert_eq!(found(&[9000, 9000, 4000, 9000, 1500]).large_packets, 0);
        let merged = found(&[2948, 4396, 7292, 1500, 2948]);
        assert_eq!((merged.large_packets, merged.data_packets), (4, 5));
        assert_eq!(merged.largest_bytes, 7292);
        assert_eq!(found(&[65_212, 65_212]).large_packets, 2);
    }
}
