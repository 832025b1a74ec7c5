//! Receive windows of a cgroup's TCP connections, held by a law while the owner lives.
//!
//! [`Hold`] puts a BPF program on a cgroup (sockops). The program sees every segment that a connection sends, measures the
//! round-trip time by the echo of its own timestamps, and bounds the window by `TCP_WINDOW_CLAMP`. The laws are those of
//! `unbloat-tcp`, in C (`bpf/drwa.h`, `bpf/rledbat.h`), compared with them step by step.
//!
//! [`Router`] does the same for hosts that cannot: it rewrites the windows of the acknowledgements that it forwards.
//!
//! A clamp stays in its socket when the program is gone. [`Hold::release`] lifts those of connections that still send, [`lift`]
//! all others; [`guard()`] does both for an owner that was killed.

mod cgroup;
mod error;
mod flow;
mod guard;
mod hold;
mod law;
mod lift;
#[cfg(test)]
mod replay;
mod router;

pub use cgroup::{Cgroup, own_name, sweep};
pub use error::WindowError;
pub use flow::Flow;
pub use guard::guard;
pub use hold::{Hold, Options, Whose};
pub use lift::lift;
pub use router::Router;
