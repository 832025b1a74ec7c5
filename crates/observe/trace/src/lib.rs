//! Passive analysis of packet traces: one shard's packets in time order to rows of tables.
//!
//! # How a packet goes through
//! [`Orientation`] marks which end is the client, over the whole trace in order. A [`Shard`] gets
//! the packets of some of the clients: it finds the flow and the user, classifies the packet
//! against what it saw before (`tcp`), shows it to every analysis (`analysis`), and writes rows to
//! its [`Output`]. Outputs of several shards merge batch by batch into the same tables that one
//! shard would have written.
//!
//! # Invariants
//! No clock, no randomness, no I/O: the time is the packets' time. Memory grows with live flows and
//! users, and is bounded by `Params::max_flows`. Rows are ordered by packet numbers, never by
//! addresses, hashes or threads.
//!
//! # Reference
//! Huang et al., "An In-depth Study of LTE: Effect of Network Protocol and Application Behavior on
//! Performance", SIGCOMM 2013. Sections and figures in these docs are those of that paper.

#![warn(clippy::disallowed_methods)]

mod analysis;
mod dns;
mod expiry;
mod flow;
mod flow_table;
mod index;
mod live_flow;
mod orientation;
mod output;
mod params;
pub mod plain;
mod power;
mod protocols;
mod reached;
mod shard;
mod slab;
mod standing;
pub mod tables;
mod tcp;
#[cfg(test)]
mod testing;
mod user;
mod users;

pub use analysis::flows;
pub use flow::EndCause;
pub use orientation::{Evidence, Learnt, Network, Orientation};
pub use output::{Output, all_tables};
pub use params::Params;
pub use power::PowerModel;
pub use protocols::Protocols;
pub use reached::{Cut, Reached};
pub use shard::{Shard, ShardStats};
pub use standing::ALWAYS_TOLD_WINDOWS;
pub use tables::SideTables;
