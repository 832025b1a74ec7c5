//! What a link adds to a packet: headers, a minimum, cells.

use unbloat_queue::IpLen;

/// How the link cuts frames into cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cells {
    #[default]
    None,
    /// ATM: 48 bytes of frame in each cell of 53 (ADSL).
    Atm,
    /// PTM: one byte more for every 64 begun (VDSL2).
    Ptm,
}

/// From IP length to bytes on the wire, in the order of `tc-cake`: overhead, minimum, cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing {
    /// Bytes per packet besides the IP packet; 38 for Ethernet with preamble and gap.
    pub overhead: u32,
    /// Frames shorter than this are filled up to it.
    pub minimum: u32,
    pub cells: Cells,
}

impl Framing {
    pub const fn wire_bytes(&self, len: IpLen) -> u64 {
        let framed = len.as_u32() as u64 + self.overhead as u64;
        let frame = if framed < self.minimum as u64 {
            self.minimum as u64
        } else {
            framed
        };
        match self.cells {
            Cells::None => frame,
            Cells::Atm => frame.div_ceil(48) * 53,
            Cells::Ptm => frame + frame.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_its_overhead_its_minimum_and_whole_cells() {
        let wire = |overhead, minimum, cells, len| {
            let framing = Framing {
                overhead,
                minimum,
                cells,
            };
            framing.wire_bytes(IpLen::new(len))
        };
        assert_eq!(wire(0, 0, Cells::None, 1500), 1500);
        assert_eq!(wire(38, 84, Cells::None, 40), 84);
        assert_eq!(wire(38, 84, Cells::None, 1500), 1538);
        assert_eq!(wire(8, 0, Cells::Atm, 40), 53);
        assert_eq!(wire(9, 0, Cells::Atm, 40), 106);
        assert_eq!(wire(44, 0, Cells::Atm, 1500), 33 * 53);
        assert_eq!(wire(28, 0, Cells::Ptm, 36), 65);
        assert_eq!(wire(29, 0, Cells::Ptm, 36), 67);
    }
}
