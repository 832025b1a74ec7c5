//! Large packets: what the kernel handles as one and the line carries as several (GSO).

use unbloat_qdisc::discipline::cake::Params;
use unbloat_units::{Bytes, Delta};

/// The largest.
const LARGEST: Bytes = Bytes::new(65_536);
/// All others wait while one leaves.
const LONGEST: Delta = Delta::ms(1);

/// Whether the kernel is not to split them: where none takes the line for long.
pub(crate) fn stay_whole(params: &Params) -> bool {
    params.rate.is_some_and(|rate| LARGEST / rate <= LONGEST)
}

/// What a large packet is on the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    pub packets: u32,
    /// Of the packets at IP level.
    pub bytes: u32,
}

impl Split {
    pub(crate) fn none(bytes: u32) -> Split {
        Split { packets: 1, bytes }
    }

    /// The kernel does not tell how long the packets are: as long as they can be. Each has the headers of the whole.
    pub(crate) fn of(bytes: u32, headers: u32, mtu: u32) -> Split {
        let payload = bytes.saturating_sub(headers);
        let packets = payload.div_ceil(mtu.saturating_sub(headers).max(1)).max(1);
        Split {
            packets,
            bytes: bytes + (packets - 1) * headers,
        }
    }

    /// What CAKE charges for, if it adds the overhead of one packet.
    pub(crate) fn charged(self, params: &Params) -> u32 {
        let each = params.overhead.unwrap_or(params.device.header as i32);
        let others = (self.packets - 1) as i32;
        self.bytes.saturating_add_signed(each * others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::Rate;

    #[test]
    fn they_stay_whole_where_64_kib_take_less_than_a_millisecond() {
        let at = |mbps| {
            stay_whole(&Params {
                rate: Some(Rate::mbps(mbps)),
                ..Params::default()
            })
        };
        assert_eq!([100, 524, 525, 1_000].map(at), [false, false, true, true]);
        assert!(!stay_whole(&Params::default()));
    }

    #[test]
    fn each_packet_on_the_line_has_headers_and_overhead_of_its_own() {
        // Forty segments of 1,448 bytes, and one of 80.
        let split = Split::of(52 + 58_000, 52, 1_500);
        assert_eq!((split.packets, split.bytes), (41, 58_000 + 41 * 52));
        let charged = |overhead| {
            split.charged(&Params {
                overhead,
                ..Params::default()
            })
        };
        assert_eq!(charged(None), split.bytes + 40 * 14);
        assert_eq!(charged(Some(-20)), split.bytes - 40 * 20);
        assert_eq!(Split::of(1_500, 52, 1_500), Split::none(1_500));
        assert_eq!(Split::of(40, 60, 50), Split::none(40));
    }
}
