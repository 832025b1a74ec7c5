//! Buffer status reports: how a phone tells what it has to send, in 64 steps.
//!
//! 3GPP TS 36.321 table 6.1.3.1-1. The level of index i stands for more than the bound of i - 1 and
//! up to that of i; headers of RLC and MAC are not counted.

use unbloat_units::Bytes;

/// Upper bounds in bytes of the levels 0 to 62; level 63 is all above the last.
const BOUNDS: [u32; 63] = [
    0, 10, 12, 14, 17, 19, 22, 26, 31, 36, 42, 49, 57, 67, 78, 91, 107, 125, 146, 171, 200, 234,
    274, 321, 376, 440, 515, 603, 706, 826, 967, 1132, 1326, 1552, 1817, 2127, 2490, 2915, 3413,
    3995, 4677, 5476, 6411, 7505, 8787, 10287, 12043, 14099, 16507, 19325, 22624, 26487, 31009,
    36304, 42502, 49759, 58255, 68201, 79846, 93479, 109439, 128125, 150000,
];

/// An index of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bsr(u8);

impl Bsr {
    /// The highest level: all above 150,000 bytes look alike.
    pub const TOP: Bsr = Bsr(63);

    /// The level of a buffer.
    pub fn of(buffered: Bytes) -> Bsr {
        let level = BOUNDS.partition_point(|bound| u64::from(*bound) < buffered.as_u64());
        Bsr(level as u8)
    }

    /// The most that this level stands for; none at the top.
    pub fn upper_bound(self) -> Option<Bytes> {
        let bound = BOUNDS.get(usize::from(self.0))?;
        Some(Bytes::new(u64::from(*bound)))
    }

    /// What a scheduler grants for it: the upper bound, and 150,000 bytes at the top.
    pub fn granted_for(self) -> Bytes {
        self.upper_bound()
            .unwrap_or(Bytes::new(u64::from(BOUNDS[62])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_holds_its_bound_and_the_next_row_begins_above() {
        assert_eq!(Bsr::of(Bytes::ZERO), Bsr(0));
        for (index, bound) in (0u8..).zip(BOUNDS) {
            let bound = Bytes::new(u64::from(bound));
            assert_eq!(Bsr::of(bound), Bsr(index));
            assert_eq!(Bsr::of(bound).upper_bound(), Some(bound));
            assert_eq!(Bsr::of(bound + Bytes::new(1)), Bsr(index + 1));
        }
        assert_eq!(Bsr::of(Bytes::new(u64::MAX)), Bsr::TOP);
        assert_eq!(Bsr::TOP.upper_bound(), None);
        assert_eq!(Bsr::TOP.granted_for(), Bytes::new(150_000));
    }

    #[test]
    fn bounds_follow_the_geometric_law_that_made_them() {
        // Table values are 10 * 1.1707^(k - 1) rounded up, but for the last, 150,000: a check on
        // misprints (4667, 10276 and 93749 are in circulation).
        let ratio = (150_000.0f64 / 10.0).powf(1.0 / 61.0);
        for (k, bound) in (0..).zip(&BOUNDS[1..]) {
            let law = (10.0 * ratio.powi(k)).ceil();
            assert!(
                (f64::from(*bound) - law).abs() <= 1.0,
                "{bound} against {law}"
            );
        }
    }
}
