//! LTE as a packet meets it: transport blocks every millisecond, retransmissions, grants, sleep.

mod air;
mod bsr;
mod capacity;
pub mod downlink;
mod grid;
mod rlc;
mod scheduler;
pub mod uplink;

pub use air::Params as AirParams;
pub use bsr::Bsr;
pub use capacity::Rates;

use std::collections::VecDeque;

/// Takes the front if it is of this kind.
fn pop_if<T>(list: &mut VecDeque<T>, is_of_kind: impl Fn(&T) -> bool) -> Option<T> {
    list.front()
        .is_some_and(is_of_kind)
        .then(|| list.pop_front())?
}
