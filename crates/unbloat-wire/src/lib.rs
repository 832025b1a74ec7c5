//! Packet headers out of captured bytes.
//!
//! One record of a capture goes in (its link type, its bytes, its length on the wire), one
//! [`PacketHeader`] or one [`SkipReason`] comes out. Captures are cut short (snap length), so all
//! lengths are those that the IP and TCP headers state; bytes from outside never panic, and what
//! cannot be parsed is skipped with a reason that is counted.

mod batch;
mod header;
mod skip;

pub use batch::Batch;
pub use header::{Address, PacketFlags, PacketHeader, TcpFlags, protocol};
pub use skip::{SkipCounts, SkipReason};
