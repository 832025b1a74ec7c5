//! Queue disciplines as pure state machines: time, randomness and the observer are arguments.
//!
//! The simulator and the real-time emulator drive the same code. A discipline is one file under
//! `discipline/` and one line in `registry.rs`; it keeps `Params`, `State` and `Stats`, in that
//! order, and hands every drop and mark with its reason to the [`Observer`].

#![warn(clippy::disallowed_methods)]

mod chain;
mod device;
pub mod discipline;
mod event;
mod fifo;
mod fixed;
pub mod law;
mod packet;
mod queue;
mod registry;
mod slab;
#[cfg(test)]
mod testkit;
mod ticker;

pub use device::Device;
pub use event::{Event, Observer, Reason};
pub use packet::{Dscp, Ecn, FlowHash, Host, IpLen, Packet, PureAck};
pub use queue::{Backlog, Context, Queue};
pub use registry::{AnyQueue, Config, NAMES};
