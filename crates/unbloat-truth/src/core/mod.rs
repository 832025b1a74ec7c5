//! The emulated path as a pure state machine: packets and times in, packets and [`Event`]s out.
//!
//! Time and randomness are arguments, so the same code runs in virtual time in tests and in real
//! time behind two TUN devices.

mod agenda;
mod event;
mod link;
mod overtaking;
mod packet;
mod path;
mod radio;
mod schedule;
mod segment;
mod ticks;

pub use event::{Event, Observer, Place};
pub use link::Link;
pub use packet::{Direction, FiveTuple, Packet, client_address, client_index};
pub use path::{AccessLink, Counts, Path, PathParams};
pub use radio::{Promotion, Radio, RadioParams};
pub use schedule::RateSchedule;
pub use segment::{Fate, Impairment, Outage, Segment};
pub use ticks::Ticks;

#[cfg(test)]
pub(crate) use packet::tests;
