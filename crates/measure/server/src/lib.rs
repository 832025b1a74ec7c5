//! The other end of a live test. One process speaks what others' clients know (responsiveness, ndt7,
//! irtt) and gives ours an account of every transfer: `docs/protocol.md` has each path and field.
//!
//! A [`Server`] is bound by [`Server::bind`], says where by [`Server::addresses`], and serves until it is told to
//! stop. Everything that comes from outside is bounded by [`Limits`].

mod account;
mod admission;
mod answer;
mod bucket;
mod certificate;
mod certificates;
mod control;
mod counters;
mod echo;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod gate;
mod guests;
mod host;
mod judge;
mod large;
mod listen;
mod load_socket;
mod memory;
mod ndt7;
mod options;
mod origin;
mod page;
mod peer;
mod query;
#[cfg(feature = "http3")]
mod quic;
#[cfg(not(feature = "http3"))]
#[path = "no_quic.rs"]
mod quic;
mod route;
mod server;
mod service;
mod session;
mod shared;
mod socket;
#[doc(hidden)]
pub mod testing;
mod thin;
mod tokens;
mod upload;
mod user;
mod wire;

pub use certificates::Certificates;
pub use counters::Counts;
pub use error::ServeError;
pub use options::{Certificate, Limits, Options};
pub use server::{Addresses, Server};
pub use user::become_user;
