//! Discrete-event simulation: workloads over TCP over queues and links, packet by packet.
//!
//! An [`Experiment`](unbloat_experiment::scenario::Experiment) says what is simulated, [`run`] does it in virtual time. The same experiment
//! gives the same outcome to the last bit: time is in whole nanoseconds, tasks at the same time
//! are done in the order in which they were planned, and every part draws from a generator of its
//! own.

#![warn(clippy::disallowed_methods)]

mod agenda;
mod body;
mod connection;
mod due;
mod prefetch;
mod reading;
mod router;
mod slab;
mod unsent;
mod wire;
mod world;

pub use agenda::Agenda;
pub use slab::Slab;
pub use world::{run, run_while};
