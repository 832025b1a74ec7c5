//! The flow hash: keyed, and the same in both directions.

use crate::Address;
use crate::ip::AddressBits;

/// Hashes protocol, addresses and ports.
///
/// Whoever sends packets through the capture point chooses these numbers, so the hash is keyed: a
/// fresh seed for each run makes collisions a matter of luck. It is a multiply-and-fold hash as
/// wyhash and foldhash use it, not a cryptographic one. Each end is hashed by itself, non-linearly
/// (or flows with swapped ports would collide), and the two are added, which forgets the order.
#[derive(Clone, Debug)]
pub struct FlowHasher {
    keys: [u64; 6],
}

impl FlowHasher {
    /// The same seed gives the same hashes; draw it at random for captures of unknown origin.
    pub fn with_seed(seed: u64) -> FlowHasher {
        let mut state = seed;
        FlowHasher {
            keys: std::array::from_fn(|_| split_mix(&mut state)),
        }
    }

    /// The hash of the flow between two ends, in either order.
    #[inline]
    pub fn hash(&self, protocol: u8, a: (Address, u16), b: (Address, u16)) -> u64 {
        let bits = |address: Address| AddressBits(u128::from_be_bytes(address.0));
        self.hash_bits(protocol, (bits(a.0), a.1), (bits(b.0), b.1))
    }

    #[inline]
    pub(crate) fn hash_bits(
        &self,
        protocol: u8,
        a: (AddressBits, u16),
        b: (AddressBits, u16),
    ) -> u64 {
        self.both(protocol, self.end(a), self.end(b))
    }

    /// [`FlowHasher::hash`] of ends that are known to be of IPv4.
    #[inline]
    pub(crate) fn hash_v4(&self, protocol: u8, a: (u32, u16), b: (u32, u16)) -> u64 {
        self.both(protocol, self.end_v4(a), self.end_v4(b))
    }

    #[inline]
    fn both(&self, protocol: u8, a: u64, b: u64) -> u64 {
        let ends = a.wrapping_add(b);
        fold(ends ^ self.keys[4], self.keys[5] ^ u64::from(protocol))
    }

    #[inline]
    fn end(&self, (AddressBits(bits), port): (AddressBits, u16)) -> u64 {
        if bits >> 32 == 0xffff {
            return self.end_v4((bits as u32, port));
        }
        let host = fold(
            bits as u64 ^ self.keys[0],
            (bits >> 64) as u64 ^ self.keys[1],
        );
        fold(host ^ self.keys[2], u64::from(port) ^ self.keys[3])
    }

    /// Address and port fit one word; multiplied with itself under two keys, so that it is not
    /// linear either.
    #[inline]
    fn end_v4(&self, (address, port): (u32, u16)) -> u64 {
        let word = u64::from(address) << 16 | u64::from(port);
        fold(word ^ self.keys[0], word ^ self.keys[1])
    }
}

/// The two halves of the 128-bit product, one upon the other.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// SplitMix64 (Steele, Lea, Flood 2014, fig. 16): spreads one seed over many keys.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn v4(host: u32) -> Address {
        Address::v4(host.to_be_bytes())
    }

    proptest! {
        #[test]
        fn both_directions_hash_alike(
            seed: u64, proto: u8, a: [u8; 16], b: [u8; 16], p: u16, q: u16,
        ) {
            let (hasher, a, b) = (FlowHasher::with_seed(seed), Address(a), Address(b));
            prop_assert_eq!(
                hasher.hash(proto, (a, p), (b, q)),
                hasher.hash(proto, (b, q), (a, p))
            );
        }
    }

    #[test]
    fn neighbouring_flows_do_not_collide_even_in_half_the_bits() {
        let hasher = FlowHasher::with_seed(1);
        let (mut all, mut low, mut high) = (HashSet::new(), HashSet::new(), HashSet::new());
        for host in 0..100 {
            for port in 0..1000 {
                let client = v4(0x0a00_0000 + host);
                let hash = hasher.hash(6, (client, port), (v4(0xc0a8_0001), 443));
                all.insert(hash);
                low.insert(hash as u32);
                high.insert(hash >> 32);
            }
        }
        assert_eq!(all.len(), 100_000);
        // A random function expects 1.2 collisions of 100,000 values in 32 bits.
        assert!(
            low.len() > 99_990 && high.len() > 99_990,
            "{} {}",
            low.len(),
            high.len()
        );
    }

    #[test]
    fn swapped_ports_are_another_flow() {
        let hasher = FlowHasher::with_seed(2);
        let (a, b) = (v4(1), v4(2));
        assert_ne!(
            hasher.hash(6, (a, 1000), (b, 2000)),
            hasher.hash(6, (a, 2000), (b, 1000))
        );
        assert_ne!(
            hasher.hash(6, (a, 1000), (b, 2000)),
            hasher.hash(17, (a, 1000), (b, 2000))
        );
    }

    #[test]
    fn another_seed_gives_another_hash() {
        let hash = |seed| FlowHasher::with_seed(seed).hash(6, (v4(1), 1), (v4(2), 2));
        assert_ne!(hash(1), hash(2));
        assert_eq!(hash(1), hash(1));
    }
}
