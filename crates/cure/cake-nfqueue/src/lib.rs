//! CAKE in user space, for hosts and routers whose kernel has none.
//!
//! Packets are held by the kernel (`nfnetlink_queue`); only their headers come here, are put into the same
//! [`Cake`](unbloat_qdisc::discipline::cake::Cake) that the simulator runs, and leave by a verdict at the time when CAKE sends them.
//! Packets into the interface are held where they come in, packets out of it where they leave.
//!
//! Nothing is left behind and nothing is cut off when this dies, by `kill -9` too: the rules stand in tables that belong to
//! our socket, which the kernel removes with it, and `bypass` lets packets through for which nobody listens. What was held at
//! that moment is lost.

mod engine;
mod error;
mod held;
mod large;
mod nfnetlink;
mod pace;
mod queues;
mod rules;

pub use engine::{Counts, Event, Options, Shaper, steps};
pub use error::ShapeError;
