//! What rates a shaper is to have where the line varies.
//!
//! An [`Autorate`] stands where the shaper is, between the line and its users. It is told of packets that come from the line and go
//! to it, and of what became of its own probes, and says at which rate each direction is to be shaped, every time with the
//! reason and what it was seen by. What has to be done for every packet ([`Pairing`]) may be done elsewhere. It owns no clock and sends nothing: the simulator and the daemon drive the same code.
//!
//! Two laws: [`follow`], which reads the delay of the users' own flows and sets the rate by what the full line was seen to
//! carry, and [`cake_autorate`], the law of the program of that name.

#![warn(clippy::disallowed_methods)]

mod autorate;
mod decision;
mod flows;
mod law;
mod meter;
mod pairing;
mod passive;

pub use autorate::{Answer, Autorate, OPEN, Params, Policy, Probing, Seen};
pub use decision::{Decision, Evidence, Reason, UnderWay};
pub use law::{cake_autorate, follow};
pub use pairing::{Heard, Pairing, Stamps, Tally};
