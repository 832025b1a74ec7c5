//! Numbers that look random and never change: the captures must be the same on every machine and
//! with every version of every library.

/// The finaliser of MurmurHash3 with 64 bits: a bijection.
pub const fn mixed(x: u64) -> u64 {
    let x = (x ^ x >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let x = (x ^ x >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ x >> 33
}

/// The finaliser of MurmurHash3 with 32 bits: a bijection, so distinct numbers stay distinct.
pub const fn mixed_u32(x: u32) -> u32 {
    let x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
    let x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    x ^ x >> 16
}

/// Number `n` of a fixed sequence, in 0..1.
pub fn uniform(n: u64) -> f64 {
    (mixed(n + 1) >> 11) as f64 / (1u64 << 53) as f64
}
