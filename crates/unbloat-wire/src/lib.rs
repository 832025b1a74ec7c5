//! Packet headers out of captured bytes.
//!
//! One record of a capture goes in (its link type, its bytes, its length on the wire), one
//! [`PacketHeader`] or one [`SkipReason`] comes out. Captures are cut short (snap length), so all
//! lengths are those that the IP and TCP headers state; bytes from outside never panic, and what
//! cannot be parsed is skipped with a reason that is counted.

mod batch;
mod frame;
mod gtp;
mod hash;
mod header;
mod ip;
mod ipv6;
mod link;
mod options;
mod parser;
mod payload;
mod skip;
mod tcp;
#[cfg(test)]
mod testing;
mod tunnel;
mod udp;
mod view;

pub use batch::Batch;
pub use hash::FlowHasher;
pub use header::{Address, PacketFlags, PacketHeader, TcpFlags, protocol};
pub use link::LinkType;
pub use options::{SackBlock, SackBlocks, TcpOption, TcpOptions};
pub use parser::{Parser, ParserParams};
pub use skip::{SkipCounts, SkipReason};
