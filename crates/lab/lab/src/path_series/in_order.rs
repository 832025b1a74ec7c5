//! Data of TCP that a receiver can pass on: all before it has come, and it had not been there before.

use std::collections::HashMap;

const TCP: u8 = 6;
/// Where a header says which protocol follows, by version of IP; and its length, where that is fixed.
const V4_PROTOCOL: usize = 9;
const V6_NEXT_HEADER: usize = 6;
const V6_LEN: usize = 40;
/// Of data that came ahead of its turn; a connection that has more is not counted exactly.
const MOST_PIECES: usize = 1_024;

/// Addresses and ports of one direction of a connection.
type Key = ([u8; 32], [u8; 4]);

/// What of each connection has come.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    connections: HashMap<Key, Arrived>,
}

/// Bytes of one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Brought {
    /// Its payload.
    pub(super) delivered: u64,
    /// What became readable with it.
    pub(super) in_order: u64,
}

/// All before `next`, and pieces beyond it in order, as distances from the first byte.
#[derive(Debug, Default)]
struct Arrived {
    first: u32,
    next: u64,
    pieces: Vec<(u64, u64)>,
}

impl InOrder {
    /// What a packet of that payload brings; nothing if it is not TCP.
    pub(super) fn count(&mut self, header: &[u8], len: usize) -> Brought {
        let Some((key, seq, is_syn)) = tcp(header) else {
            return Brought::default();
        };
        Brought {
            delivered: len as u64,
            in_order: self.in_order(key, (seq, is_syn), len as u64),
        }
    }

    /// By how many bytes it moves on what is in order.
    fn in_order(&mut self, key: Key, (seq, is_syn): (u32, bool), len: u64) -> u64 {
        let begins = |first| Arrived {
            first,
            ..Arrived::default()
        };
        // The same ports again are another connection.
        if is_syn {
            self.connections.insert(key, begins(seq.wrapping_add(1)));
            return 0;
        }
        let arrived = self.connections.entry(key).or_insert_with(|| begins(seq));
        arrived.take(seq, len)
    }
}

impl Arrived {
    fn take(&mut self, seq: u32, len: u64) -> u64 {
        let before = self.next;
        // The nearest to what is expected: sequence numbers wrap.
        let ahead = seq.wrapping_sub(self.first.wrapping_add(self.next as u32)) as i32;
        let mut low = self.next.saturating_add_signed(i64::from(ahead));
        let mut high = low + len;
        self.pieces.retain(|&(from, to)| {
            let is_apart = to < low || high < from;
            if !is_apart {
                (low, high) = (low.min(from), high.max(to));
            }
            is_apart
        });
        if low <= self.next {
            self.next = self.next.max(high);
        } else if low < high && self.pieces.len() < MOST_PIECES {
            let at = self.pieces.partition_point(|&(from, _)| from < low);
            self.pieces.insert(at, (low, high));
        }
        self.next - before
    }
}

fn tcp(header: &[u8]) -> Option<(Key, u32, bool)> {
    let (addresses, tcp) = match header.first()? >> 4 {
        4 if *header.get(V4_PROTOCOL)? == TCP => {
            let len = usize::from(header[0] & 15) * 4;
            (header.get(12..20)?, header.get(len..)?)
        }
        6 if *header.get(V6_NEXT_HEADER)? == TCP => (header.get(8..V6_LEN)?, &header[V6_LEN..]),
        _ => return None,
    };
    let mut key = ([0; 32], *tcp.first_chunk()?);
    key.0[..addresses.len()].copy_from_slice(addresses);
    let seq = u32::from_be_bytes(tcp.get(4..8)?.try_into().ok()?);
    Some((key, seq, tcp.get(13)? & 2 != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYN: u8 = 2;

    fn segment(port: u16, seq: u32, flags: u8) -> Vec<u8> {
        let mut header = vec![0; 40];
        header[0] = 0x45;
        header[V4_PROTOCOL] = TCP;
        header[20..22].copy_from_slice(&port.to_be_bytes());
        header[24..28].copy_from_slice(&seq.to_be_bytes());
        header[33] = flags;
        header
    }

    #[test]
    fn what_comes_ahead_counts_when_the_gap_is_filled_and_what_comes_twice_once() {
        let mut in_order = InOrder::default();
        let mut count = |seq, len| in_order.count(&segment(1, seq, 0), len).in_order;
        assert_eq!(count(1_000, 100), 100);
        assert_eq!(count(1_000, 100), 0);
        assert_eq!(count(1_050, 100), 50);
        assert_eq!(count(1_300, 100), 0);
        assert_eq!(count(1_350, 100), 0);
        assert_eq!(count(1_150, 100), 100);
        assert_eq!(count(1_250, 50), 200);
        assert_eq!(count(1_450, 10), 10);
    }

    #[test]
    fn every_byte_counts_once_in_any_order_and_over_the_wrap() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut in_order = InOrder::default();
        let first = u32::MAX - 40_000;
        in_order.count(&segment(1, first.wrapping_sub(1), SYN), 0);
        let mut offsets: Vec<u32> = (0..200).map(|i| i * 500).collect();
        offsets.extend_from_within(..);
        rng.shuffle(&mut offsets);
        let counts = offsets.iter().map(|&offset| {
            let segment = segment(1, first.wrapping_add(offset), 0);
            in_order.count(&segment, 700).in_order
        });
        // The last begins at 99,500.
        assert_eq!(counts.sum::<u64>(), 100_200);
    }

    #[test]
    fn the_same_ports_again_are_another_connection_and_damage_counts_nothing() {
        let mut in_order = InOrder::default();
        let brought = Brought {
            delivered: 10,
            in_order: 10,
        };
        assert_eq!(in_order.count(&segment(1, 50, 0), 10), brought);
        in_order.count(&segment(1, 49, SYN), 0);
        assert_eq!(in_order.count(&segment(1, 50, 0), 10), brought);
        for len in 0..40 {
            let cut = &segment(1, 90, 0)[..len.min(33)];
            assert_eq!(in_order.count(cut, 10).in_order, 0);
        }
    }
}
