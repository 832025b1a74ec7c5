//! LTE as a packet meets it: transport blocks every millisecond, retransmissions, grants, sleep.

mod air;
mod block;
mod capacity;
pub mod downlink;
mod grid;
mod rlc;
pub mod rrc;
mod scheduler;
pub mod sleep;
mod station;
pub mod uplink;

pub use air::Params as AirParams;
pub use capacity::Rates;
pub use unbloat_uplink::Bsr;

use crate::element::uniform;
use fastrand::Rng;
use std::collections::VecDeque;
use unbloat_units::Delta;

/// Uniform between two spans, both included.
fn uniform_between(shortest: Delta, longest: Delta, rng: &mut Rng) -> Delta {
    shortest + uniform(longest - shortest, rng)
}

/// Takes the front if it is of this kind.
fn pop_if<T>(list: &mut VecDeque<T>, is_of_kind: impl Fn(&T) -> bool) -> Option<T> {
    list.front()
        .is_some_and(is_of_kind)
        .then(|| list.pop_front())?
}
