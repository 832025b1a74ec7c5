//! Packet headers out of captured bytes.
//!
//! One record of a capture goes in (its link type, its bytes, its length on the wire), one
//! [`PacketHeader`] or one [`SkipReason`] comes out. Captures are cut short (snap length), so all
//! lengths are those that the IP and TCP headers state; bytes from outside never panic, and what
//! cannot be parsed is skipped with a reason that is counted.
//!
//! The way down is a walk: `link` takes off what only captures have, `frame` walks to an IP header,
//! `ip` and `ipv6` read it, then comes `tcp` or `udp`, or a tunnel (`gtp`, `tunnel`) that leads back
//! to `frame`. Each hands on a `View`: the bytes stored beside the length that headers state.
//!
//! ```
//! use unbloat_units::Time;
//! use unbloat_wire::{Batch, FlowHasher, LinkType, Parser, ParserParams};
//!
//! let parser = Parser::new(ParserParams::default(), FlowHasher::with_seed(1));
//! let mut batch = Batch::default();
//! let stored = [0x45, 0, 0x05, 0xdc, 0, 1, 0, 0, 64, 1, 0, 0, 10, 0, 0, 2, 192, 0, 2, 1];
//! parser.push(&mut batch, LinkType::RawIp, &stored, 1500, Time::from_ns(0));
//! assert_eq!(batch.headers[0].src.to_string(), "10.0.0.2");
//! assert_eq!(batch.headers[0].payload_len, 1480);
//! ```

#![warn(clippy::disallowed_methods)]

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
mod usual;
mod view;

pub use batch::Batch;
pub use hash::FlowHasher;
pub use header::{Address, PacketFlags, PacketHeader, TcpFlags, protocol};
pub use link::LinkType;
pub use options::{SackBlock, SackBlocks, TcpOption, TcpOptions};
pub use parser::{Parser, ParserParams};
pub use skip::{LinkCounts, SkipCounts, SkipReason};
