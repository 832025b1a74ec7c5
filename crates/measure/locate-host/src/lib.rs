//! Probes to every hop of a path, idle and under load, and what [`unbloat_locate`] makes of the answers.
//!
//! A packet whose time to live ends at a router makes it answer; the same packet with a greater one comes
//! to the next. All probes of a run look like one flow (same addresses, ports and checksum), so that
//! routers that share flows out over links treat them alike, and go out at a steady rate that load does not
//! change. Who loads the path is told when ([`Load`]) and how is its own matter.
//!
//! # References
//! - Augustin et al., "Avoiding traceroute anomalies with Paris traceroute" (IMC 2006): what must stay
//!   the same in probes of one flow.
//! - RFC 792, RFC 4443: answers, and how much of a probe they quote; RFC 4884: longer quotes.
//! - Linux, Documentation/networking/timestamping.rst: stamps of packets before and behind the queue
//!   discipline.
//!
//! # How it is done
//! 1. UDP needs no privilege, nor ICMP echo where `net.ipv4.ping_group_range` allows it: the kernel hands answers to the
//!    socket that asked (`IP_RECVERR`). TCP SYN, and ICMP echo elsewhere, need a raw socket.
//! 2. Times are the kernel's: of a probe when it enters this host's queue discipline, of an answer when it
//!    is received. What a probe stays in the queue discipline is measured on the way.
//! 3. What answers quote must hold a number that only this run knows. Answers to nothing, repeated or late
//!    ones, and what is no answer are counted and have no other effect.
//! 4. No more than [`Options::most_per_second`] probes are sent in all, however many hops there are.

mod answers;
mod discover;
mod document;
mod error;
mod follow;
#[doc(hidden)]
pub mod fuzz;
mod options;
mod probe;
mod prober;
mod record;
mod run;
pub mod tables;

pub use document::Document;
pub use error::LocateError;
pub use follow::{Follower, Signal, follow};
pub use options::{Load, Options, Stage};
pub use probe::Kind;
pub use record::{Counts, Record};
pub use run::{Located, run};
