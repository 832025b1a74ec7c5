//! Scores the analyser against what happened.
//!
//! A bed is one run of the lab: kernel TCP over an emulated path that writes down what it did to every packet, beside a log of what
//! the server's kernel did (`make`). Here the analyser reads the captures, knowing nothing of that, and each [`Quantity`]
//! compares what it says with what happened. What tshark and tcptrace say of the same captures stands beside it where they claim
//! the same thing.
//!
//! Packets are read here without the parser of the analyser, and the path reads headers by itself: an error of the parser that is
//! scored must not be able to hide in the truth it is scored against.
//!
//! A quantity is one file in `quantity` and one line in [`QUANTITIES`].

mod analysed;
mod bed;
mod clock;
mod error;
mod make;
mod packets;
pub mod quantity;
mod report;
mod scenario;
mod score;
pub mod sender;
mod statistics;
mod tools;
mod truth;
mod tuple;

pub use bed::{Bed, Tools};
pub use error::ValidateError;
pub use make::{BedParams, BedReport, make};
pub use quantity::{QUANTITIES, Quantity};
pub use report::{document, table};
pub use scenario::{BEDS, Named};
pub use score::{Bound, Score, Unit};
