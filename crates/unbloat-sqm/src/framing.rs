//! What a packet takes on the line.

use serde::{Deserialize, Serialize};
use std::fmt;
use unbloat_units::Rate;

/// Bounds of CAKE's `overhead` (sch_cake.c, `TCA_CAKE_OVERHEAD`).
pub(crate) const OVERHEADS: std::ops::RangeInclusive<i16> = -64..=256;
/// Its bound of `mpu`.
pub(crate) const LARGEST_MPU: u16 = 256;

/// In what a packet is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cells {
    /// Nothing: it is sent whole.
    #[default]
    None,
    /// Cells of 53 bytes that hold 48 (ADSL).
    Atm,
    /// 64 of 65 bytes (VDSL2).
    Ptm,
}

/// Bytes that are added to each IP packet, what a packet takes at least, and cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Framing {
    pub cells: Cells,
    pub overhead_bytes: i16,
    pub minimum_bytes: u16,
}

impl Framing {
    /// Nothing but IP's own bytes.
    pub const NONE: Framing = Framing {
        cells: Cells::None,
        overhead_bytes: 0,
        minimum_bytes: 0,
    };
    /// Ethernet with preamble, gap and FCS, as `tc-cake(8)`'s `ethernet`.
    pub const ETHERNET: Framing = Framing {
        cells: Cells::None,
        overhead_bytes: 38,
        minimum_bytes: 84,
    };
    /// DOCSIS, as `tc-cake(8)`'s `docsis`.
    pub const DOCSIS: Framing = Framing {
        cells: Cells::None,
        overhead_bytes: 18,
        minimum_bytes: 64,
    };
    /// ATM with the overhead of the CACM article.
    pub const ATM: Framing = Framing {
        cells: Cells::Atm,
        overhead_bytes: 44,
        minimum_bytes: 0,
    };
    /// VDSL2 with PPPoE, as `tc-cake(8)`'s `pppoe-ptm`.
    pub const PTM: Framing = Framing {
        cells: Cells::Ptm,
        overhead_bytes: 30,
        minimum_bytes: 0,
    };

    /// Whether CAKE and the size tables of the kernel take it.
    pub fn is_possible(self) -> bool {
        OVERHEADS.contains(&self.overhead_bytes) && self.minimum_bytes <= LARGEST_MPU
    }

    /// The rate of a line over which applications got this much by TCP in full packets: what a shaper counts is the line's.
    pub fn line_rate(self, goodput: Rate) -> Rate {
        /// Of a packet of 1500 bytes, with timestamps.
        const PAYLOAD: u64 = 1448;
        let bps = u128::from(goodput.as_bps()) * u128::from(self.wire_bytes(1500));
        Rate::bps((bps / u128::from(PAYLOAD)) as u64)
    }

    /// Bytes on the line of an IP packet, as CAKE counts them (sch_cake.c, `cake_calc_overhead`).
    pub fn wire_bytes(self, ip_bytes: u32) -> u64 {
        let padded = i64::from(ip_bytes) + i64::from(self.overhead_bytes);
        let whole = padded.max(i64::from(self.minimum_bytes)).max(0) as u64;
        match self.cells {
            Cells::None => whole,
            Cells::Atm => whole.div_ceil(48) * 53,
            Cells::Ptm => whole + whole.div_ceil(64),
        }
    }
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = match self.cells {
            Cells::None => "no cells",
            Cells::Atm => "ATM",
            Cells::Ptm => "PTM",
        };
        write!(f, "{cells}, overhead {} B", self.overhead_bytes)?;
        match self.minimum_bytes {
            0 => Ok(()),
            mpu => write!(f, ", at least {mpu} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atm_takes_whole_cells() {
        let atm = Framing::ATM;
        // 40 + 44 = 84 bytes need two cells.
        assert_eq!(atm.wire_bytes(40), 106);
        assert_eq!(atm.wire_bytes(52), 106);
        assert_eq!(atm.wire_bytes(53), 159);
        assert_eq!(atm.wire_bytes(1500), 33 * 53);
    }

    #[test]
    fn a_lines_rate_is_more_than_what_applications_get() {
        let goodput = Rate::kbps(1448);
        assert_eq!(Framing::NONE.line_rate(goodput), Rate::kbps(1500));
        assert_eq!(Framing::ATM.line_rate(goodput), Rate::kbps(1749));
    }

    #[test]
    fn ptm_and_ethernet_count_as_cake_does() {
        assert_eq!(Framing::PTM.wire_bytes(1500), 1530 + 24);
        assert_eq!(Framing::ETHERNET.wire_bytes(40), 84);
        assert_eq!(Framing::NONE.wire_bytes(40), 40);
        let less = Framing {
            overhead_bytes: -64,
            ..Framing::NONE
        };
        assert_eq!(less.wire_bytes(40), 0);
    }
}
