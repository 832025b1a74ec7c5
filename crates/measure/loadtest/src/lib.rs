//! Latency under load on a live path.
//!
//! [`measure`] runs the stages of a [`Plan`] against a [`Target`]: load by HTTP, datagrams at a fixed pace on a thread of their own,
//! probes within and beside the load, and the kernel's account of each connection. It concludes nothing; [`findings`] does, of what was
//! [`Measured`] and nothing else.

mod account;
mod addresses;
mod applications;
pub mod apps;
mod beside;
mod document;
mod echo;
mod error;
mod findings;
mod flent;
mod flow;
#[doc(hidden)]
pub mod fuzz;
mod held;
mod host;
mod http;
mod interface;
mod introduction;
mod load;
mod measure;
mod measured;
mod ndt7;
mod options;
mod paced;
mod ping;
mod place;
mod plan;
mod probes;
mod public;
#[cfg(feature = "http3")]
mod quic;
#[cfg(not(feature = "http3"))]
#[path = "no_quic.rs"]
mod quic;
#[cfg(feature = "http3")]
mod retries;
mod sampler;
mod service;
mod socket;
mod stamped;
mod sweep;
pub mod tables;
mod target;
mod text;
mod thread;
mod tls;
mod upload;
mod verdict_text;

pub use addresses::{answering, reachable};
pub use document::document;
pub use error::TestError;
pub use findings::{EchoAccount, Findings, Idle, LoadFindings, findings};
pub use flent::flent;
pub use introduction::{Introduction, introduce};
pub use measure::{Progress, measure};
pub use measured::*;
pub use options::{Flows, Http, IpVersion, Options, Probing, Trust};
pub use place::OwnAddresses;
pub use plan::{Direction, Load, Plan, Stack, Stage};
pub use public::{PUBLIC, Public, Terms, notice};
pub use sweep::{Echoed, sweep};
pub use target::{Origin, PORT, Target, TargetError};
pub use text::{detailed_text, text};
pub use tls::Fingerprint;
pub use unbloat_responsiveness::{Distrust, Rule, Verdict};
