//! TCP options, decoded one by one.
//!
//! # References
//! - RFC 9293 §3.1 (list, end, no-operation, maximum segment size)
//! - RFC 7323 §2.2, §2.3 (window scale), §3.2 (timestamps); RFC 2018 §2, §3 (SACK)

use unbloat_units::Seq;

/// One TCP option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpOption<'a> {
    MaxSegmentSize(u16),
    /// The shift count. More than 14 is used as 14 (RFC 7323 §2.3).
    WindowScale(u8),
    SackPermitted,
    Sack(SackBlocks<'a>),
    Timestamps {
        value: Seq,
        echo: Seq,
    },
    /// Any other kind, or one of the above with a length that is not its own.
    Other {
        kind: u8,
        data: &'a [u8],
    },
}

/// Bytes received beyond the cumulative acknowledgement: from `left` up to, not including, `right`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackBlock {
    pub left: Seq,
    pub right: Seq,
}

/// The blocks of one SACK option in the order sent, at most four: more do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackBlocks<'a>(&'a [u8]);

impl Iterator for SackBlocks<'_> {
    type Item = SackBlock;

    fn next(&mut self) -> Option<SackBlock> {
        let (block, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        let [l0, l1, l2, l3, r0, r1, r2, r3] = *block;
        Some(SackBlock {
            left: Seq::new(u32::from_be_bytes([l0, l1, l2, l3])),
            right: Seq::new(u32::from_be_bytes([r0, r1, r2, r3])),
        })
    }
}

/// Walks over the options of a TCP header, padding left out.
///
/// Ends at the end-of-list option, at the end of the bytes, and where an option's length
/// contradicts itself or reaches beyond the bytes: nothing behind that can be trusted.
#[derive(Clone, Debug)]
pub struct TcpOptions<'a>(&'a [u8]);

impl<'a> TcpOptions<'a> {
    /// Options as in the header, from its byte 20; as [`crate::Batch::options`] keeps them.
    pub fn new(options: &'a [u8]) -> TcpOptions<'a> {
        TcpOptions(options)
    }
}

const END: u8 = 0;
const NO_OPERATION: u8 = 1;

impl<'a> Iterator for TcpOptions<'a> {
    type Item = TcpOption<'a>;

    fn next(&mut self) -> Option<TcpOption<'a>> {
        let mut option = self.0;
        while let [NO_OPERATION, rest @ ..] = option {
            option = rest;
        }
        let (kind, len) = match *option {
            [] | [_] | [END, ..] => return None,
            [kind, len, ..] => (kind, usize::from(len)),
        };
        let data = option.get(2..len)?;
        self.0 = &option[len..];
        Some(decode(kind, data))
    }
}

fn decode(kind: u8, data: &[u8]) -> TcpOption<'_> {
    match (kind, data) {
        (2, &[high, low]) => TcpOption::MaxSegmentSize(u16::from_be_bytes([high, low])),
        (3, &[shift]) => TcpOption::WindowScale(shift.min(14)),
        (4, []) => TcpOption::SackPermitted,
        (5, blocks) if !blocks.is_empty() && blocks.len() <= 32 && blocks.len() % 8 == 0 => {
            TcpOption::Sack(SackBlocks(blocks))
        }
        (8, &[v0, v1, v2, v3, e0, e1, e2, e3]) => TcpOption::Timestamps {
            value: Seq::new(u32::from_be_bytes([v0, v1, v2, v3])),
            echo: Seq::new(u32::from_be_bytes([e0, e1, e2, e3])),
        },
        _ => TcpOption::Other { kind, data },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_options_of_a_linux_syn_are_all_decoded() {
        let syn = [
            2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 0, 1, 3, 3, 7,
        ];
        let options: Vec<_> = TcpOptions::new(&syn).collect();
        assert_eq!(
            options,
            [
                TcpOption::MaxSegmentSize(1460),
                TcpOption::SackPermitted,
                TcpOption::Timestamps {
                    value: Seq::new(7),
                    echo: Seq::new(0)
                },
                TcpOption::WindowScale(7),
            ]
        );
    }

    #[test]
    fn four_sack_blocks_come_in_the_order_sent() {
        let mut bytes = vec![5, 34];
        for n in 0..8u32 {
            bytes.extend((n * 10).to_be_bytes());
        }
        let Some(TcpOption::Sack(blocks)) = TcpOptions::new(&bytes).next() else {
            panic!("no SACK option");
        };
        let lefts: Vec<u32> = blocks.map(|b| b.left.raw()).collect();
        assert_eq!(lefts, [0, 20, 40, 60]);
    }

    #[test]
    fn a_scale_beyond_14_is_used_as_14() {
        let scale = TcpOptions::new(&[3, 3, 200]).next();
        assert_eq!(scale, Some(TcpOption::WindowScale(14)));
    }

    #[test]
    fn the_walk_ends_at_the_end_of_list_and_at_lengths_that_cannot_be() {
        for bytes in [
            &[0, 2, 4, 0, 0][..],
            &[2, 1, 0, 0],
            &[2, 0],
            &[8, 10, 1],
            &[2],
        ] {
            assert_eq!(TcpOptions::new(bytes).next(), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_known_kind_with_a_foreign_length_is_other() {
        let sack = TcpOptions::new(&[5, 6, 1, 2, 3, 4]).next();
        assert_eq!(
            sack,
            Some(TcpOption::Other {
                kind: 5,
                data: &[1, 2, 3, 4]
            })
        );
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_end(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(TcpOptions::new(&bytes).count() <= bytes.len() / 2);
        }
    }
}
