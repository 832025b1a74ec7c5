//! Which shard a packet goes to: all packets of one client to the same one.

use unbloat_wire::{Batch, PacketHeader};

/// The shard of the packet's client. Addresses differ little, so they are mixed well; nothing that
/// an outsider could gain by choosing addresses depends on it but the balance of threads.
#[inline]
pub fn shard_of(header: &PacketHeader, shards: usize) -> usize {
    let client = if header.is_uplink() {
        &header.src
    } else {
        &header.dst
    };
    let bits = u128::from_be_bytes(client.0);
    let folded = (bits as u64 ^ (bits >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (((folded >> 32) * shards as u64) >> 32) as usize
}

/// A batch, and for each shard the positions of its packets. Used again and again, so that no memory
/// wanders between threads.
#[derive(Debug, Default)]
pub(crate) struct Dealt {
    pub(crate) batch: Batch,
    pub(crate) hands: Vec<Vec<u32>>,
}

impl Dealt {
    pub(crate) fn new(batch: Batch) -> Dealt {
        Dealt {
            batch,
            hands: Vec::new(),
        }
    }

    /// Deals the packets that are in the batch now.
    pub(crate) fn deal(&mut self, shards: usize) {
        self.hands.resize_with(shards, Vec::new);
        self.hands.iter_mut().for_each(Vec::clear);
        for (i, header) in self.batch.headers.iter().enumerate() {
            self.hands[shard_of(header, shards)].push(i as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_wire::{Address, PacketFlags};

    fn packet(client: u8, uplink: bool) -> PacketHeader {
        let (a, b) = (
            Address::v4([10, 45, 0, client]),
            Address::v4([192, 0, 2, 1]),
        );
        let mut header = PacketHeader {
            src: b,
            dst: a,
            ..PacketHeader::default()
        };
        if uplink {
            (header.src, header.dst) = (a, b);
            header.flags.set(PacketFlags::UPLINK);
        }
        header
    }

    #[test]
    fn both_directions_of_a_client_meet_in_one_shard_and_clients_spread() {
        let headers: Vec<_> = (0..200)
            .flat_map(|c| [packet(c, true), packet(c, false)])
            .collect();
        let batch = Batch {
            headers,
            ..Batch::default()
        };
        let mut dealt = Dealt::new(batch);
        dealt.deal(2);
        let hands = dealt.hands;
        assert_eq!(hands.iter().map(Vec::len).sum::<usize>(), 400);
        for hand in hands {
            assert!((100..=300).contains(&hand.len()), "{}", hand.len());
            assert!(hand.chunks(2).all(|pair| pair[0] + 1 == pair[1]));
        }
    }
}
