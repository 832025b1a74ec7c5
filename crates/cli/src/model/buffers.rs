//! The buffers to compute.

use std::str::FromStr;
use unbloat_queueing::{Capacity, ModelError};
use unbloat_units::Bytes;

/// Maximum number of buffers in a range.
const PLACES: u64 = 200;

/// Single buffers and ranges of them, as on the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffers(Vec<(Size, Size)>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Size {
    Packets(u64),
    Bytes(Bytes),
}

impl Buffers {
    /// From 1 to `most` packets.
    pub fn up_to(most: u64) -> Buffers {
        Buffers(vec![(Size::Packets(1), Size::Packets(most))])
    }

    /// In packets of this size, rising, each once.
    pub fn capacities(&self, packet: Bytes) -> Result<Vec<Capacity>, ModelError> {
        let ranges = self.0.iter();
        let mut all: Vec<u64> = ranges
            .flat_map(|&(from, to)| places(from.packets(packet), to.packets(packet)))
            .collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(Capacity::new).collect()
    }
}

impl Size {
    /// Whole packets that fit.
    fn packets(self, packet: Bytes) -> u64 {
        match self {
            Size::Packets(n) => n,
            Size::Bytes(size) => size.as_u64() / packet.as_u64().max(1),
        }
    }
}

/// All integers of a range, or `PLACES` evenly spaced ones, both ends included.
fn places(from: u64, to: u64) -> Vec<u64> {
    let (from, to) = (from.min(to), from.max(to));
    let steps = (to - from).min(PLACES - 1);
    let place =
        |i: u64| from + (u128::from(to - from) * u128::from(i) / u128::from(steps.max(1))) as u64;
    (0..=steps).map(place).collect()
}

impl FromStr for Size {
    type Err = ();
    fn from_str(text: &str) -> Result<Size, ()> {
        let packets = text.parse().map(Size::Packets);
        packets
            .or_else(|_| text.parse().map(Size::Bytes))
            .map_err(|_| ())
    }
}

impl FromStr for Buffers {
    type Err = String;
    fn from_str(text: &str) -> Result<Buffers, String> {
        let range = |item: &str| {
            let (from, to) = item.split_once("..").unwrap_or((item, item));
            Ok((from.trim().parse()?, to.trim().parse()?))
        };
        let ranges: Result<Vec<(Size, Size)>, ()> = text.split(',').map(range).collect();
        ranges.map(Buffers).map_err(|()| {
            format!("invalid buffer {text:?}; use packets such as 100, 20..1000 or 10,50,100, or sizes such as '30 kB..1.5 MB'")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(text: &str) -> Vec<u32> {
        let buffers: Buffers = text.parse().expect("buffers");
        let all = buffers.capacities(Bytes::new(1500)).expect("in range");
        all.into_iter().map(Capacity::get).collect()
    }

    #[test]
    fn packets_sizes_lists_and_ranges_are_buffers() {
        assert_eq!(packets("20"), [20]);
        assert_eq!(packets("3..6, 5, 1"), [1, 3, 4, 5, 6]);
        assert_eq!(packets("30 kB..31.6 kB"), [20, 21]);
        let wide = packets("20..100000");
        assert_eq!((wide.len(), wide[0], wide[199]), (200, 20, 100_000));
    }

    #[test]
    fn what_is_no_buffer_is_refused_with_the_fix() {
        for text in ["", "many", "1..", "10 Mbit/s", "-3"] {
            let error = text.parse::<Buffers>().expect_err(text);
            assert!(error.contains("20..1000"), "{error}");
        }
        let none: Buffers = "100 B".parse().expect("a size");
        assert!(none.capacities(Bytes::new(1500)).is_err());
    }
}
