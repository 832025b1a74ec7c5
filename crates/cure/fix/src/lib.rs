//! Cure and proof, without I/O: what of a test's advice is carried out, and whether the same test finds the path better afterwards.
//!
//! [`read`] reads a finished test. [`propose`] takes of its advice what can be carried out, [`judge`] says whether the change helped enough to stay.

#![warn(clippy::disallowed_methods)]

mod document;
mod judgement;
mod proposal;
mod stored;
#[cfg(test)]
mod testing;

pub use document::{Document, Effect};
pub use judgement::{Judgement, judge, searched};
pub use proposal::{Proposal, Reach, Untreated, propose};
pub use stored::{NotATest, read};
