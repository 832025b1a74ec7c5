//! Cure and proof, without I/O: what of a test's advice is carried out, and whether the same test finds the path better afterwards.
//!
//! [`Tested`] is a finished test. [`propose`] takes of its advice what can be carried out, [`judge`] says whether the change helped enough to stay.

mod judgement;
mod proposal;
mod tested;
#[cfg(test)]
mod testing;

pub use judgement::{Judgement, judge, searched};
pub use proposal::{Proposal, Reach, Untreated, propose};
pub use tested::{NotATest, Tested};
