//! Cure and proof, without I/O: what a test calls for, and whether the same test finds it better afterwards.
//!
//! [`Tested`] is what a finished test said, out of its JSON. [`propose`] says what to change and why, [`judge`] whether the change
//! helped enough to stay. Who carries changes out is none of this crate's business.

mod judgement;
mod proposal;
mod tested;

pub use judgement::{Judgement, judge, searched};
pub use proposal::{Proposal, Untreated, propose};
pub use tested::{Loaded, NotATest, Tested};
