//! What is agreed when a session is opened.

use crate::error::WireError;
use unbloat_units::Delta;

/// Longest name of a fill, bytes.
pub const FILL_MAX: usize = 32;

/// Parameters of a session: asked for by the client, restricted by the server.
///
/// Zero, or nothing, means that the packet does not name it; so does irtt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// Of the protocol: 1.
    pub version: i64,
    /// How long the client will send.
    pub duration: Delta,
    /// From one request to the next.
    pub interval: Delta,
    /// UDP payload of request and reply, bytes; at least the header, however small this is.
    pub length: u16,
    /// What the server tells about requests that reached it.
    pub received_stats: ReceivedStats,
    /// When the server reads its clocks.
    pub stamp_at: StampAt,
    /// Which clocks it reads.
    pub clock: StampClock,
    /// Whole byte of the IP header: DSCP and the two bits of ECN.
    pub dscp: u8,
    /// What the server fills replies with, as irtt names it: `none`, `rand`, `pattern:HEX`. At most [`FILL_MAX`] bytes.
    pub fill: Vec<u8>,
}

/// What the server tells about requests that reached it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedStats {
    /// How many came, duplicates included.
    pub count: bool,
    /// Which of the last 64 came.
    pub window: bool,
}

/// When the server reads its clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StampAt {
    #[default]
    None,
    Send,
    Receive,
    Both,
    /// Once, half-way between.
    Midpoint,
}

/// Which clocks the server reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StampClock {
    pub wall: bool,
    pub mono: bool,
}

impl ReceivedStats {
    pub const BOTH: ReceivedStats = ReceivedStats {
        count: true,
        window: true,
    };
}

impl StampClock {
    pub const BOTH: StampClock = StampClock {
        wall: true,
        mono: true,
    };
}

mod tag {
    pub(super) const VERSION: u64 = 1;
    pub(super) const DURATION: u64 = 2;
    pub(super) const INTERVAL: u64 = 3;
    pub(super) const LENGTH: u64 = 4;
    pub(super) const RECEIVED_STATS: u64 = 5;
    pub(super) const STAMP_AT: u64 = 6;
    pub(super) const CLOCK: u64 = 7;
    pub(super) const DSCP: u64 = 8;
    pub(super) const FILL: u64 = 9;
    /// Unknown to irtt, which passes over it: two bytes of nothing.
    pub(super) const PADDING: u64 = 127;
}

impl Params {
    /// Appends all that are not zero, as irtt does.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let stats =
            i64::from(self.received_stats.count) | i64::from(self.received_stats.window) << 1;
        let clock = i64::from(self.clock.wall) | i64::from(self.clock.mono) << 1;
        let numbers = [
            (tag::VERSION, self.version),
            (tag::DURATION, self.duration.as_ns()),
            (tag::INTERVAL, self.interval.as_ns()),
            (tag::LENGTH, i64::from(self.length)),
            (tag::RECEIVED_STATS, stats),
            (tag::STAMP_AT, self.stamp_at as i64),
            (tag::CLOCK, clock),
            (tag::DSCP, i64::from(self.dscp)),
        ];
        for (tag, value) in numbers.into_iter().filter(|&(_, value)| value != 0) {
            put_uvarint(out, tag);
            put_varint(out, value);
        }
        if !self.fill.is_empty() {
            let fill = &self.fill[..self.fill.len().min(FILL_MAX)];
            put_uvarint(out, tag::FILL);
            put_uvarint(out, fill.len() as u64);
            out.extend_from_slice(fill);
        }
    }

    /// Appends parameters without meaning until `out` is `len` bytes long, or one more.
    pub(crate) fn pad(out: &mut Vec<u8>, len: usize) {
        while out.len() < len {
            put_uvarint(out, tag::PADDING);
            put_varint(out, 0);
        }
    }

    /// Reads parameters to the end of `bytes`; the last of several of one kind holds, unknown ones are passed over.
    ///
    /// Lengths below 0 and above 65535 are taken as these.
    pub(crate) fn decode(mut bytes: &[u8]) -> Result<Params, WireError> {
        let mut params = Params::default();
        while !bytes.is_empty() {
            let tag = take_uvarint(&mut bytes)?;
            if tag == tag::FILL {
                params.fill = take_text(&mut bytes)?;
                continue;
            }
            let value = unzigzag(take_uvarint(&mut bytes)?);
            params
                .set(tag, value)
                .ok_or(WireError::Param { tag, value })?;
        }
        Ok(params)
    }

    fn set(&mut self, tag: u64, value: i64) -> Option<()> {
        match tag {
            tag::VERSION => self.version = value,
            tag::DURATION => self.duration = Delta::ns(positive(value)?),
            tag::INTERVAL => self.interval = Delta::ns(positive(value)?),
            tag::LENGTH => self.length = value.clamp(0, i64::from(u16::MAX)) as u16,
            tag::RECEIVED_STATS => {
                let bits = two_bits(value)?;
                self.received_stats = ReceivedStats {
                    count: bits & 1 != 0,
                    window: bits & 2 != 0,
                };
            }
            tag::STAMP_AT => self.stamp_at = StampAt::from_number(value)?,
            tag::CLOCK => {
                let bits = two_bits(value).filter(|&bits| bits != 0)?;
                self.clock = StampClock {
                    wall: bits & 1 != 0,
                    mono: bits & 2 != 0,
                };
            }
            tag::DSCP => self.dscp = u8::try_from(value).ok()?,
            _ => {}
        }
        Some(())
    }
}

impl StampAt {
    pub(crate) fn from_number(value: i64) -> Option<StampAt> {
        let all = [
            StampAt::None,
            StampAt::Send,
            StampAt::Receive,
            StampAt::Both,
            StampAt::Midpoint,
        ];
        all.into_iter().find(|&at| at as i64 == value)
    }
}

fn positive(value: i64) -> Option<i64> {
    (value > 0).then_some(value)
}

fn two_bits(value: i64) -> Option<i64> {
    (0..=3).contains(&value).then_some(value)
}

/// Seven bits a byte, the least first, the top bit set in all but the last.
fn put_uvarint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Signed numbers with the sign in the lowest bit.
fn put_varint(out: &mut Vec<u8>, value: i64) {
    put_uvarint(out, ((value << 1) ^ (value >> 63)) as u64);
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// As Go's `binary.Uvarint`: numbers past 64 bits are refused.
fn take_uvarint(bytes: &mut &[u8]) -> Result<u64, WireError> {
    let mut value = 0_u64;
    for shift in (0..70).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(WireError::TruncatedParams)?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            break;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(WireError::TruncatedParams)
}

fn take_text(bytes: &mut &[u8]) -> Result<Vec<u8>, WireError> {
    let len = take_uvarint(bytes)?;
    if len > FILL_MAX as u64 {
        return Err(WireError::LongFill { len, max: FILL_MAX });
    }
    let (text, rest) = bytes
        .split_at_checked(len as usize)
        .ok_or(WireError::TruncatedParams)?;
    *bytes = rest;
    Ok(text.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(params: &Params) -> Vec<u8> {
        let mut out = Vec::new();
        params.encode(&mut out);
        out
    }

    #[test]
    fn numbers_take_the_bytes_that_go_gives_them() {
        // From Go's encoding/binary: Uvarint of 300, Varint of -1, 63 and 64.
        let mut out = Vec::new();
        put_uvarint(&mut out, 300);
        put_varint(&mut out, -1);
        put_varint(&mut out, 63);
        put_varint(&mut out, 64);
        assert_eq!(out, [0xac, 0x02, 0x01, 0x7e, 0x80, 0x01]);
    }

    #[test]
    fn a_number_past_64_bits_is_refused() {
        let mut nine = vec![0xff; 9];
        nine.push(0x01);
        assert_eq!(take_uvarint(&mut &nine[..]), Ok(u64::MAX));
        nine[9] = 0x02;
        assert_eq!(
            take_uvarint(&mut &nine[..]),
            Err(WireError::TruncatedParams)
        );
        assert_eq!(
            take_uvarint(&mut &[0x80; 20][..]),
            Err(WireError::TruncatedParams)
        );
    }

    #[test]
    fn padding_and_unknown_parameters_are_passed_over() {
        let params = Params {
            version: 1,
            duration: Delta::secs(60),
            ..Params::default()
        };
        let mut out = encoded(&params);
        Params::pad(&mut out, 40);
        put_uvarint(&mut out, 999);
        put_varint(&mut out, -7);
        assert_eq!(Params::decode(&out), Ok(params));
    }

    #[test]
    fn what_no_session_can_have_is_refused() {
        for (tag, value) in [(2, -1), (3, 0), (5, 4), (6, 5), (7, 0), (8, 256)] {
            let mut out = Vec::new();
            put_uvarint(&mut out, tag);
            put_varint(&mut out, value);
            assert_eq!(Params::decode(&out), Err(WireError::Param { tag, value }));
        }
    }

    proptest! {
        #[test]
        fn parameters_survive_the_way_over_the_wire(
            (version, duration, interval) in (any::<i64>(), 0..i64::MAX, 0..i64::MAX),
            (length, stats, clock, at) in (any::<u16>(), 0_u8..4, 0_u8..4, 0_i64..5),
            dscp in any::<u8>(),
            fill in prop::collection::vec(any::<u8>(), 0..=FILL_MAX),
        ) {
            let params = Params {
                version,
                duration: Delta::ns(duration),
                interval: Delta::ns(interval),
                length,
                received_stats: ReceivedStats { count: stats & 1 != 0, window: stats & 2 != 0 },
                stamp_at: StampAt::from_number(at).unwrap(),
                clock: StampClock { wall: clock & 1 != 0, mono: clock & 2 != 0 },
                dscp,
                fill,
            };
            prop_assert_eq!(Params::decode(&encoded(&params)), Ok(params));
        }

        #[test]
        fn any_bytes_are_parameters_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Params::decode(&bytes);
        }
    }
}
