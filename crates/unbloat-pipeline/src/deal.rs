//! Which shard a packet goes to: all packets of one client to the same one.

use unbloat_wire::{Batch, PacketHeader};

/// The shard of the packet's client. Addresses differ little, so they are mixed well; nothing that
/// an outsider could gain by choosing addresses depends on it but the balance of threads.
fn shard_of(header: &PacketHeader, shards: usize) -> usize {
    let client = if header.is_uplink() {
        &header.src
    } else {
        &header.dst
    };
    let bits = u128::from_be_bytes(client.0);
    let folded = (bits as u64 ^ (bits >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (((folded >> 32) * shards as u64) >> 32) as usize
}

/// For each shard the positions of its packets in the batch.
pub(crate) fn deal(batch: &Batch, shards: usize) -> Vec<Vec<u32>> {
    let expected = batch.headers.len() / shards * 5 / 4;
    let mut hands: Vec<Vec<u32>> = (0..shards).map(|_| Vec::with_capacity(expected)).collect();
    for (i, header) in batch.headers.iter().enumerate() {
        hands[shard_of(header, shards)].push(i as u32);
    }
    hands
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
        let hands = deal(&batch, 2);
        assert_eq!(hands.iter().map(Vec::len).sum::<usize>(), 400);
        for hand in hands {
            assert!((100..=300).contains(&hand.len()), "{}", hand.len());
            assert!(hand.chunks(2).all(|pair| pair[0] + 1 == pair[1]));
        }
    }
}
