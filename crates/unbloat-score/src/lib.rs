//! Scores the analyser against what truth beds recorded.
//!
//! A bed ([`unbloat_truth`]) is kernel TCP over an emulated path that logs what it did to every packet
//! and what the senders' kernels thought of it. Here the analyser reads the bed's captures, knowing
//! nothing of that log, and each [`Quantity`] compares what it says with what happened. What tshark
//! and tcptrace say of the same captures stands beside it where they claim the same thing.
//!
//! A quantity is one file in `quantity` and one line in [`QUANTITIES`].

mod analysed;
mod bed;
mod error;
mod packets;
pub mod quantity;
mod report;
mod score;
mod statistics;
mod tools;
mod truth;
mod tuple;

pub use bed::{Bed, Tools};
pub use error::ScoreError;
pub use quantity::{QUANTITIES, Quantity};
pub use report::{document, table};
pub use score::{Bound, Score, Unit};
