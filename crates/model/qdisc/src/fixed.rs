//! Fixed-point arithmetic and hashing that several disciplines share.

/// `fraction` of `range`, where `fraction` is in units of 2^-32: a multiplication instead of a division.
#[inline]
pub(crate) const fn scale(range: u64, fraction: u32) -> u64 {
    ((range as u128 * fraction as u128) >> 32) as u64
}

/// Spreads a hash or a plain number over all 32 bits, one to one (the finaliser of MurmurHash3):
/// drivers may number their flows 0, 1, 2.
#[inline]
pub(crate) const fn mix(key: u32) -> u32 {
    let mut h = key;
    h ^= h >> 16;
    h = h.wrapping_mul(0x85eb_ca6b);
    h ^= h >> 13;
    h = h.wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// One of `buckets`, for a flow under a salt (RFC 8290 section 5.3: against flows that are made to collide).
#[inline]
pub(crate) const fn bucket(flow: u32, salt: u32, buckets: u32) -> u32 {
    scale(buckets as u64, mix(flow ^ salt)) as u32
}

/// Newton's step towards 1/sqrt(`count`), in units of 2^-32: x (3 - count x^2) / 2.
///
/// All in 64 bits as Linux does it, so that estimates agree to the last bit; far from the root the
/// products wrap.
#[inline]
pub(crate) const fn inverse_sqrt_step(count: u32, estimate: u32) -> u32 {
    let square = (estimate as u64 * estimate as u64) >> 32;
    let rest = (3_u64 << 32).wrapping_sub(count as u64 * square);
    // Two bits are put aside, or the product would not fit.
    ((rest >> 2).wrapping_mul(estimate as u64) >> (32 - 2 + 1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newton_steps_converge_to_the_inverse_square_root() {
        for count in [2_u32, 3, 10, 100, 5_000] {
            let mut estimate = u32::MAX;
            for n in 2..=count {
                estimate = inverse_sqrt_step(n, estimate);
            }
            for _ in 0..6 {
                estimate = inverse_sqrt_step(count, estimate);
            }
            let got = f64::from(estimate) / 2f64.powi(32);
            let want = 1.0 / f64::from(count).sqrt();
            assert!((got / want - 1.0).abs() < 1e-4, "{count}: {got} for {want}");
        }
    }

    #[test]
    fn small_flow_numbers_fill_the_buckets() {
        let mut used = [false; 1024];
        for flow in 0..1024 {
            used[bucket(flow, 0, 1024) as usize] = true;
        }
        let filled = used.iter().filter(|used| **used).count();
        // Thrown at random, 1 - 1/e of the buckets are hit: 647.
        assert!((600..700).contains(&filled), "{filled}");
    }
}
