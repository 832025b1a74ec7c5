//! Smart queue management, without I/O: what shaper a line needs, how that is told, and what is wrong with one that is there.
//!
//! A [`Plan`] says for one device how fast each direction is shaped, by which discipline, and what a packet takes on the line.
//! It is told as [`tc`] commands (those that are executed), as OpenWrt's configuration ([`uci`]) and for systemd-networkd
//! ([`networkd`]). [`check`] judges a configuration of sqm-scripts; [`detect`] finds the line's cells out of delays;
//! [`Knee`] searches the highest rate at which delay stays low.
//!
//! # References
//! - "Buffer-Bloated Router? How to Prevent It and Improve Performance", CACM: shape to 95 %, CAKE, ATM with 44 bytes of overhead.
//! - sqm-scripts (`/etc/config/sqm`, `simple.qos`, `simplest.qos`, `piece_of_cake.qos`), `tc-cake(8)`, `tc-stab(8)`, `systemd.network(5)`.

#![warn(clippy::disallowed_methods)]

mod check;
mod detect;
mod knee;
pub mod networkd;
mod plan;
mod section;
pub mod systemd;
pub mod tc;
mod tried;
pub mod uci;

pub use check::{Bypass, Facts, Finding, Severity, check};
pub use detect::{Detection, Inconclusive, Sample, detect};
pub use knee::{Asked, Judged, Knee, KneeParams, NoKnee, Trial};
pub use plan::{
    Device, DeviceError, ETHERNET_HEADER_BYTES, Plan, PlanError, Qdisc, SHARE_PERCENT, longer_rtt,
};
pub use section::Shaper;
pub use tried::Tried;
