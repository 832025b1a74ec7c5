//! Isochronous UDP echo: requests at a steady pace, each answered with the server's own times.
//!
//! The protocol is irtt's, so that our client works with its servers and our server with its clients. Both ends are state
//! machines without sockets, clocks or randomness of their own: [`Server`] answers many clients, [`Client`] opens,
//! keeps the pace and books what came of every request, and [`clock`] turns the booked times into one-way delays
//! though the two clocks neither agree nor run equally fast.

#![warn(clippy::disallowed_methods)]

pub mod clock;
pub mod wire;

mod account;
mod client;
mod echo;
mod error;
mod server;

pub use account::Account;
pub use client::{Client, Event, Pace, Plan, Poll};
pub use echo::{Echo, Fate, Stamp};
pub use error::{ClientError, WireError};
pub use server::{Answer, Denial, Limits, Server, Tally};

use unbloat_units::Time;

/// One instant by both clocks of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// Since 1970-01-01 UTC; may be stepped.
    pub wall: Time,
    /// Since an origin of the machine's own; never stepped.
    pub mono: Time,
}
