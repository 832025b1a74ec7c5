//! Captured packets from files, streams and live interfaces, in time order.
//!
//! A [`Source`] gives [`Record`]s one after the other: [`Trace`] from any number of inputs merged
//! by time, [`Reader`] from one. pcap and pcapng are read, plain or compressed by gzip, zstd or
//! lz4, known by their first bytes. A cut or corrupt input gives all packets before the damage,
//! and [`Notes`] tell of it at the end.
//!
//! # Why files are read and not mapped
//! `read` into a buffer that stays in the second-level cache costs the same CPU time as a walk
//! over a populated mapping of a file in the page cache (15 ns a packet of 100 bytes, both), and
//! it needs no unsafe code, counts no file pages as memory of the process, is the same for pipes
//! and files, and survives a file that shrinks (a mapping would end in SIGBUS) or grows.

mod compression;
mod error;
mod format;
mod input;
#[cfg(target_os = "linux")]
mod live;
mod looks;
mod merge;
mod notes;
mod pcap;
mod pcapng;
mod pcapng_interface;
mod reader;
mod record;
mod source;
mod window;
mod writer;

pub use error::CaptureError;
pub use input::{Input, Storage, Stored};
#[cfg(target_os = "linux")]
pub use live::{Interface, LiveHeaders, LiveOptions, LiveSource, Passed};
pub use merge::{Rest, Trace};
pub use notes::{Damage, DamageKind, Notes, Progress};
pub use reader::{Reader, read_all};
pub use record::Record;
pub use source::Source;
pub use writer::PcapWriter;
