//! What a link adds to an IP packet: headers, a minimum length, cells.

use crate::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Into what a link cuts frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cells {
    /// Nothing: a frame is sent whole.
    #[default]
    None,
    /// ATM: cells of 53 bytes that carry 48, the last one padded (ADSL).
    Atm,
    /// PTM: one byte more for every 64 or part of them (VDSL2).
    Ptm,
}

impl Cells {
    /// Bytes on the line of a frame.
    pub const fn wire_bytes(self, frame_bytes: u64) -> u64 {
        match self {
            Cells::None => frame_bytes,
            Cells::Atm => frame_bytes.div_ceil(48) * 53,
            Cells::Ptm => frame_bytes + frame_bytes.div_ceil(64),
        }
    }
}

/// From the length of an IP packet to bytes on the line, in the order of `tc-cake(8)`: overhead, minimum, cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Framing {
    pub cells: Cells,
    /// Bytes per packet besides the IP packet; may be negative, as in `tc-cake(8)`.
    pub overhead_bytes: i32,
    /// Shorter frames are padded to this.
    pub minimum_bytes: u32,
}

impl Framing {
    /// Nothing but IP's own bytes.
    pub const NONE: Framing = Framing::whole(0, 0);
    /// Ethernet with preamble, gap and FCS, as `tc-cake(8)`'s `ethernet`.
    pub const ETHERNET: Framing = Framing::whole(38, 84);

    /// DOCSIS, as `tc-cake(8)`'s `docsis`.
    pub const DOCSIS: Framing = Framing::whole(18, 64);
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

    const fn whole(overhead_bytes: i32, minimum_bytes: u32) -> Framing {
        Framing {
            cells: Cells::None,
            overhead_bytes,
            minimum_bytes,
        }
    }

    /// Bytes on the line of an IP packet (sch_cake.c, `cake_calc_overhead`).
    #[inline]
    pub const fn wire_bytes(self, ip_bytes: u32) -> u64 {
        let padded = ip_bytes as i64 + self.overhead_bytes as i64;
        let frame = if padded < self.minimum_bytes as i64 {
            self.minimum_bytes as u64
        } else {
            padded as u64
        };
        self.cells.wire_bytes(frame)
    }

    /// What a line carries in full packets of IP of that rate.
    pub fn of_ip(self, rate: Rate) -> Rate {
        let bps = u128::from(rate.as_bps()) * u128::from(self.wire_bytes(1500));
        Rate::bps((bps / 1500) as u64)
    }

    /// The rate of a line over which applications got this much by TCP in full packets: a shaper counts what the line carries.
    pub fn line_rate(self, goodput: Rate) -> Rate {
        /// Of a packet of 1500 bytes, with timestamps.
        const PAYLOAD: u64 = 1448;
        let bps = u128::from(goodput.as_bps()) * u128::from(self.wire_bytes(1500));
        Rate::bps((bps / u128::from(PAYLOAD)) as u64)
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
            minimum => write!(f, ", at least {minimum} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_its_overhead_its_minimum_and_whole_cells() {
        let wire = |overhead_bytes, minimum_bytes, cells, ip_bytes| {
            let framing = Framing {
                cells,
                overhead_bytes,
                minimum_bytes,
            };
            framing.wire_bytes(ip_bytes)
        };
        assert_eq!(wire(0, 0, Cells::None, 1500), 1500);
        assert_eq!(wire(38, 84, Cells::None, 40), 84);
        assert_eq!(wire(38, 84, Cells::None, 1500), 1538);
        assert_eq!(wire(8, 0, Cells::Atm, 40), 53);
        assert_eq!(wire(9, 0, Cells::Atm, 40), 106);
        assert_eq!(wire(44, 0, Cells::Atm, 1500), 33 * 53);
        assert_eq!(wire(28, 0, Cells::Ptm, 36), 65);
        assert_eq!(wire(29, 0, Cells::Ptm, 36), 67);
        assert_eq!(wire(-64, 0, Cells::None, 40), 0);
    }

    #[test]
    fn presets_count_as_cake_does() {
        // 40 + 44 = 84 bytes need two cells.
        assert_eq!(Framing::ATM.wire_bytes(40), 106);
        assert_eq!(Framing::ATM.wire_bytes(52), 106);
        assert_eq!(Framing::ATM.wire_bytes(53), 159);
        assert_eq!(Framing::PTM.wire_bytes(1500), 1530 + 24);
        assert_eq!(Framing::ETHERNET.wire_bytes(40), 84);
        assert_eq!(Framing::NONE.wire_bytes(40), 40);
    }

    #[test]
    fn the_rate_of_a_line_is_more_than_what_applications_get() {
        let goodput = Rate::kbps(1448);
        assert_eq!(Framing::NONE.line_rate(goodput), Rate::kbps(1500));
        assert_eq!(Framing::ATM.line_rate(goodput), Rate::kbps(1749));
    }
}
