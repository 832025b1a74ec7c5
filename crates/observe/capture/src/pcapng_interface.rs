//! Interfaces of a pcapng section: link type, clock and drop counters (draft §4.2, §4.6).

use crate::format::ByteOrder;
use unbloat_units::Time;
use unbloat_wire::LinkType;

const OPT_END: u16 = 0;
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;
const ISB_IFDROP: u16 = 5;
const ISB_OSDROP: u16 = 7;

const NS_PER_SECOND: u128 = 1_000_000_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface {
    pub(crate) link: LinkType,
    snap_len: u32,
    resolution: Resolution,
    offset_seconds: i64,
    pub(crate) drops: Option<u64>,
}

/// What one tick of an interface's clock is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    /// So many nanoseconds: 10^-9 s and coarser.
    Nanoseconds(u64),
    /// A nanosecond has so many: finer than 10^-9 s.
    PerNanosecond(u128),
    /// 2^-n s.
    BinaryFraction(u32),
}

impl Interface {
    /// From the body of an interface description block; `None` if it is too short.
    pub(crate) fn parse(order: ByteOrder, body: &[u8]) -> Option<Interface> {
        if body.len() < 8 {
            return None;
        }
        let mut interface = Interface {
            link: LinkType::from(order.u16(body, 0)),
            snap_len: order.u32(body, 4),
            resolution: Resolution::from_option(6),
            offset_seconds: 0,
            drops: None,
        };
        for (code, value) in options(order, &body[8..]) {
            match (code, value.len()) {
                (IF_TSRESOL, 1) => interface.resolution = Resolution::from_option(value[0]),
                (IF_TSOFFSET, 8) => interface.offset_seconds = order.u64(value, 0) as i64,
                _ => {}
            }
        }
        Some(interface)
    }

    /// From the body of an interface statistics block of at least 12 bytes. Its counters run
    /// from the beginning of the capture, so the last block holds.
    pub(crate) fn take_statistics(&mut self, order: ByteOrder, body: &[u8]) {
        let drops = options(order, &body[12..])
            .filter(|(code, value)| matches!(*code, ISB_IFDROP | ISB_OSDROP) && value.len() == 8)
            .map(|(_, value)| order.u64(value, 0))
            // All ones is what writers put for "not known".
            .filter(|&count| count != u64::MAX)
            .reduce(u64::saturating_add);
        self.drops = drops.or(self.drops);
    }

    /// Bounded, because files may say anything.
    #[inline]
    pub(crate) fn time(&self, ticks: u64) -> Time {
        let ns = self.resolution.to_ns(ticks);
        if self.offset_seconds == 0 {
            return Time::from_ns(ns).bounded();
        }
        let offset_ns = self.offset_seconds.saturating_mul(1_000_000_000);
        Time::from_ns(ns.saturating_add(offset_ns)).bounded()
    }

    /// What the snap length leaves of a packet.
    pub(crate) fn cut(&self, wire_len: u32) -> u32 {
        match self.snap_len {
            0 => wire_len,
            snap_len => wire_len.min(snap_len),
        }
    }
}

impl Resolution {
    /// From the value of `if_tsresol`: the top bit chooses the base, 2 or 10.
    fn from_option(value: u8) -> Resolution {
        let exponent = u32::from(value & 0x7f);
        if value & 0x80 != 0 {
            return Resolution::BinaryFraction(exponent);
        }
        match 9u32.checked_sub(exponent) {
            Some(coarser) => Resolution::Nanoseconds(10u64.pow(coarser)),
            // Beyond 10^-47 s even 2^64 ticks are less than a nanosecond.
            None => {
                Resolution::PerNanosecond(10u128.checked_pow(exponent - 9).unwrap_or(u128::MAX))
            }
        }
    }

    #[inline]
    fn to_ns(self, ticks: u64) -> i64 {
        match self {
            Resolution::Nanoseconds(n) => {
                i64::try_from(ticks.saturating_mul(n)).unwrap_or(i64::MAX)
            }
            Resolution::PerNanosecond(n) => {
                i64::try_from(u128::from(ticks) / n).unwrap_or(i64::MAX)
            }
            Resolution::BinaryFraction(n) => {
                i64::try_from((u128::from(ticks) * NS_PER_SECOND) >> n).unwrap_or(i64::MAX)
            }
        }
    }
}

/// The options of a block: code and value, up to the first that is cut.
fn options(order: ByteOrder, mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        if bytes.len() < 4 {
            return None;
        }
        let (code, length) = (order.u16(bytes, 0), usize::from(order.u16(bytes, 2)));
        if code == OPT_END || bytes.len() < 4 + length {
            return None;
        }
        let value = &bytes[4..4 + length];
        bytes = &bytes[(4 + length.next_multiple_of(4)).min(bytes.len())..];
        Some((code, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_every_resolution_become_nanoseconds() {
        for (option, ticks, ns) in [
            (0, 3, 3_000_000_000),
            (3, 1_500, 1_500_000_000),
            (6, 1_000_001, 1_000_001_000),
            (9, 7, 7),
            (12, 1_999, 1),
            (127, u64::MAX, 0),
            (0x80, 2, 2_000_000_000),
            (0x80 | 10, 1_536, 1_500_000_000),
            (0x80 | 32, 1 << 31, 500_000_000),
            (0x80 | 127, u64::MAX, 0),
            (6, u64::MAX, i64::MAX),
        ] {
            assert_eq!(
                Resolution::from_option(option).to_ns(ticks),
                ns,
                "if_tsresol {option}"
            );
        }
    }
}
