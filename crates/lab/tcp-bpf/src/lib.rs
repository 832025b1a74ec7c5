//! Congestion controls that a kernel was built without, loaded into it for a while.
//!
//! Each is a set of BPF programs (struct_ops) that become a `struct tcp_congestion_ops` of the kernel:
//! its TCP calls them as it calls its own. Sources are in `bpf/`, one file for each, step by step equal
//! to those of `unbloat-tcp`; they are compiled when this crate is, and fitted to the running kernel when
//! they are loaded.
//!
//! The list of congestion controls is one for all namespaces. What is loaded here is called `ub_NAME`,
//! can be chosen by any user's sockets in any namespace, and may be a namespace's default.

mod bpf;
mod btf;
mod control;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod loaded;
mod object;

pub use control::{Control, Provided, available, provide};
pub use error::ControlError;
pub use loaded::Loaded;
