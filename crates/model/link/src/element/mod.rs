//! Elements without a queue, one file each.

pub mod burst;
pub mod delay;
pub mod detour;
pub mod hold;
pub mod jitter;
pub mod loss;
pub mod outage;
pub mod per_client;
pub mod pipe;
mod ring;
mod sorted;

use ring::Ring;
use sorted::Sorted;

use fastrand::Rng;
use unbloat_units::Delta;

/// Draws only when the outcome is open, so that unused features leave the random stream alone.
pub(crate) fn chance(probability: f64, rng: &mut Rng) -> bool {
    probability > 0.0 && (probability >= 1.0 || rng.f64() < probability)
}

/// Uniform from zero to `most`, both included.
pub(crate) fn uniform(most: Delta, rng: &mut Rng) -> Delta {
    match most.as_ns() {
        ns if ns > 0 => Delta::ns(rng.i64(0..=ns)),
        _ => Delta::ZERO,
    }
}
