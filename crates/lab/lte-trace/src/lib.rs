//! Synthetic traces of an LTE core network, and the truth about them.
//!
//! Thousands of simulated users behind base stations; what passes between base stations and gateway, as the monitor of Huang et al.
//! (SIGCOMM 2013, Fig. 1) would have captured it: IP packets in GTP-U tunnels, both directions. Users draw flows from the study's
//! published distributions ([`published`]); what the study does not publish is in [`Params`]. Round trips, losses, windows and timeouts
//! follow from the simulated radio (`unbloat-link`) and TCP (`unbloat-tcp`).
//!
//! A trace depends on parameters and seed alone. Users are independent: [`Population`] simulates any share of them, slice by slice of time,
//! and whoever merges slices by [`Slice::key`] gets the same bytes for any number of shares. [`analyse`] does so on threads, and analyses
//! what comes.

mod analysed;
mod body;
mod clock;
mod flow;
mod frame;
mod leg;
mod params;
mod plan;
mod population;
pub mod published;
pub mod quantiles;
pub mod score;
mod slice;
mod source;
mod truth;
mod user;

pub use analysed::analyse;
pub use params::Params;
pub use population::{Population, generate};
pub use slice::{Frame, Slice};
pub use truth::{FlowName, FlowTruth, UserTruth};
pub use unbloat_link::service::steps::Step;

/// LINKTYPE_ETHERNET, of all frames.
pub const LINK_TYPE: u16 = 1;
/// No frame of a trace is longer than this after its capture.
pub const SNAP_LEN: u32 = 512;
