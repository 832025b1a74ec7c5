//! Hosts made of network namespaces: devices, addresses, routes, queues, commands.
//!
//! A [`Bed`] makes [`Host`]s; each is a network namespace of its own, told what to have over netlink. All
//! of it goes away when the host is dropped, on error and panic too. What a killed process left is
//! removed when the next bed is made, by the mark in its name ([`Maker`], [`sweep`]).
//!
//! A program that is to tidy up at Ctrl-C sets a flag in its handler, calls [`Host::end_processes`] if it
//! waits for a command, and lets its hosts be dropped.
//!
//! In a guest over somebody's root file system, hosts have no names; all else is the same.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use unbloat_netns::{Bed, Route, Tun};
//!
//! let bed = Bed::new()?;
//! let client = bed.host("client")?;
//! let packets = client.tun("tun0", &Tun::default())?;
//! client.address("tun0", "10.45.0.1/32".parse()?)?;
//! client.route("10.99.0.0/16".parse()?, Route::Device("tun0"))?;
//! let socket = client.within(|| std::net::UdpSocket::bind("10.45.0.1:0"))??;
//! # Ok(())
//! # }
//! ```

mod bed;
mod command;
mod error;
mod gate;
mod here;
mod host;
mod link;
mod maker;
mod masquerade;
mod names;
mod namespace;
mod netlink;
mod process;
mod queue;
mod shape;
mod sweep;
mod sysctl;
pub mod tc;
mod tun;

pub use bed::Bed;
pub use error::BedError;
pub use gate::Gate;
pub use here::Here;
pub use host::{Host, Route};
pub use link::{Counters, Mac};
pub use maker::Maker;
pub use masquerade::Masquerade;
pub use queue::QueueCounters;
pub use sweep::{Swept, leftovers, sweep};
pub use tun::Tun;
